from receipt import receipt


def handler(event, context):
    return receipt(event["customer"], event["cents"])
