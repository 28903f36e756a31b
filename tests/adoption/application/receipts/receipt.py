def receipt(customer, cents):
    return {"customer": customer, "total": f"{cents / 100:.2f}"}
