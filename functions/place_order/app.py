"""place-order: writes an order and takes its goods from stock, in one fenced step."""

from pathlib import Path

from once import JSON, Request, operation
from order import Order
from order_book import OrderBook
from settings import settings


@operation(schema=Path(__file__).with_name("schema.json"))
def handler(request: Request) -> JSON:
    book = OrderBook(settings().orders_table, settings().stock_table)
    return book.place(Order.of(request.payload, request.provider_key("order")), request)
