"""An adopted function that imports the library: `once new` gives its role what steps and large answers need."""

from __future__ import annotations

import re
import textwrap
from typing import Any

import pytest
from adoption.conftest import PAGE, Application

from oncekit.adoption.advice import OPERATIONS
from oncekit.adoption.texts import parts
from oncekit.local.templates.template import parse

CODE = """
import os

from once import JSON, Request, operation


@operation()
def on_invoice(request: Request) -> JSON:
    number = request.payload["detail"]["invoice"]["number"]

    def charge(step):
        step.put(os.environ["LEDGER"], {"id": request.provider_key("charge"), "invoice": number})
        return {"charged": number}

    charged = request.step("charge", charge)
    request.put_once(os.environ["LEDGER"], {"id": f"receipt-{number}"})
    return {**charged, "lines": "x" * 250_000}
"""
TEST = """
from test_bill_customer import REQUEST


def test_it_has_all_effects(once_cloud):
    assert "resultRef" in once_cloud.run(REQUEST).output
    assert len(once_cloud.rows("Ledger")) == 2 and not once_cloud.denials()


"""
NEW = ("new", "bill-customer", "--function", "BillCustomer")
EXAMPLE = ("--example", "samples/invoice.json")


def import_once(application: Application) -> None:
    """What the page says that the author of a function does."""
    [lines] = (each for each in re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL) if "OnceLibrary:" in each)
    of_function, library = lines.split("  OnceLibrary:\n")
    needed = [line.strip() for line in of_function.splitlines() if "Layers:" in line or "Architectures:" in line]
    added = "".join(f"            {line}\n" for line in needed)
    template = application.folder / "template.yaml"
    text = template.read_text().replace("CodeUri: billing/\n", f"CodeUri: billing/\n{added}")
    deeper = re.sub(r"^( +)", r"\1\1", f"  OnceLibrary:\n{library}", flags=re.MULTILINE)  # it has four spaces
    if "OnceLibrary:\n" not in text:  # a function that `once new` wrote brings it
        text = text.replace("    # --- functions ---\n", f"    # --- functions ---\n{deeper}")
    template.write_text(text)
    (application.folder / "billing" / "main.py").write_text(CODE)


def test_the_page_shows_the_layer_that_once_new_writes() -> None:
    [[_, *layer]] = parts("library.yaml", runtime="python3.13", architecture="arm64")
    assert textwrap.indent("\n".join(layer), "  ") in PAGE


def assert_passes(application: Application, *options: str, test: str = TEST) -> None:
    (application.folder / "tests" / "test_effects.py").write_text(test)
    done = application.pytest("tests", *options)
    assert done.returncode == 0, done.stdout + done.stderr


def test_an_adopted_function_with_every_kind_of_effect_passes(foreign: Application) -> None:
    foreign.once("init")
    import_once(foreign)
    done = foreign.once(*NEW, *EXAMPLE)
    assert (done.code, done.err) == (0, "Try it: pytest tests/test_bill_customer.py\n")
    assert_passes(foreign)


def test_a_function_that_imports_once_later_is_given_what_it_needs_by_once_new_again(foreign: Application) -> None:
    foreign.once("init")
    foreign.once(*NEW, *EXAMPLE)
    import_once(foreign)
    done = foreign.once(*NEW)
    assert (done.code, done.out) == (0, "template.yaml\nonce/operations.yaml\n"), done.err
    assert "PayloadOnlyOperations" not in settings(foreign) and allowed(foreign) == {"BillCustomer": "BillCustomerRole"}
    again = foreign.once(*NEW)
    assert (again.code, again.out) == (0, "") and "nothing to do" in again.err


HINT = """
from test_bill_customer import REQUEST


def test_hint(once_cloud):
    once_cloud.run({**REQUEST, "onCrash": "quarantine"})
    told = {each.advice for each in once_cloud.denials()}
    assert told == {"allow it in the Policies of BillCustomer"}
"""


def test_the_step_of_another_operation_is_refused(foreign: Application) -> None:
    foreign.once("init")
    import_once(foreign)
    foreign.once(*NEW, *EXAMPLE)
    operations = foreign.text(OPERATIONS)
    assert operations.count("*#bill-customer#*") == 1
    (foreign.folder / OPERATIONS).write_text(operations.replace("*#bill-customer#*", "*#bill-others#*"))
    assert_passes(foreign, "-k", "hint", test=HINT)


def settings(application: Application) -> dict[str, list[Any]]:
    """The lists that Once is given."""
    operations = parse(application.text(OPERATIONS), application.folder)
    given = operations["Resources"]["Machine"]["Properties"]["Parameters"]
    return {name: each["Fn::Join"][1] for name, each in given.items() if "Fn::Join" in each}


def allowed(application: Application) -> dict[str, str]:
    """The role of each operation that may note steps and keep large answers."""
    resources = parse(application.text(OPERATIONS), application.folder)["Resources"].items()
    policies = {name: each["Properties"] for name, each in resources if name.endswith("EffectsPolicy")}
    return {name.removesuffix("EffectsPolicy"): each["Roles"][0]["Ref"] for name, each in policies.items()}


def test_each_role_is_named_by_the_logical_id_that_the_template_has(foreign: Application) -> None:
    template = foreign.folder / "template.yaml"
    own = "CodeUri: receipts/\n            Role: !GetAtt Clerk.Arn\n"
    template.write_text(template.read_text().replace("CodeUri: receipts/\n", own))
    foreign.once("init")
    for operation, function in (("bill", "BillCustomer"), ("bill-2", "BillCustomer"), ("write", "WriteReceipt")):
        assert foreign.once("new", operation, "--function", function, "--gets", "request").code == 0
    foreign.once("new", "reserve", "--function", "Warehouse")
    assert allowed(foreign) == {"Bill": "BillCustomerRole", "Bill2": "BillCustomerRole", "Write": "Clerk"}
    given = parse(foreign.text("template.yaml"), foreign.folder)["Resources"]["Once"]["Properties"]["Parameters"]
    assert [given[role] for role in ("BillCustomerRole", "Clerk")] == [{"Ref": "BillCustomerRole"}, {"Ref": "Clerk"}]
    assert "WarehouseRole" not in given


@pytest.mark.parametrize("role", ["arn:aws:iam::123456789012:role/clerk", "!Ref RoleArn"])
def test_a_role_that_is_not_in_the_template_is_told(foreign: Application, role: str) -> None:
    template = foreign.folder / "template.yaml"
    own = f"CodeUri: billing/\n            Role: {role}\n"
    template.write_text(template.read_text().replace("CodeUri: billing/\n", own))
    foreign.once("init")
    done = foreign.once(*NEW, "--gets", "request")
    assert done.code == 0 and "the role of BillCustomer is not in the template: give it" in done.err
    assert allowed(foreign) == {}


def test_only_the_operation_that_is_named_gets_the_request_from_then_on(foreign: Application) -> None:
    foreign.once("init")
    for operation in ("first", "second", "third"):
        foreign.once("new", operation, "--function", "BillCustomer")
    before = foreign.text(OPERATIONS)
    assert foreign.once("new", "first", "--function", "BillCustomer", "--gets", "request").code == 0
    assert settings(foreign)["PayloadOnlyOperations"] == ["second", "third"]
    was, now = ({line.strip(" -") for line in each.splitlines()} for each in (before, foreign.text(OPERATIONS)))
    assert was - now == {"first"}, "every other line is as it was"
    for operation in ("third", "second"):
        foreign.once("new", operation, "--function", "BillCustomer", "--gets", "request")
    assert "PayloadOnlyOperations" not in settings(foreign)


WRONG = [
    (("--function", "Warehouse"), "already, which is run by BillCustomer: choose another name for this one\n"),
    ((), "already, which is run by BillCustomer: choose another name for this one\n"),
    (("--function", "BillCustomer"), "BillCustomer, which gets the payload alone, needs no more"),
    (("--function", "BillCustomer", "--gets", "request", *EXAMPLE), "give --replace to write it anew, or --function"),
    (("--function", "Warehouse", "--replace"), "--replace keeps its function"),
    (("--step", "--replace"), "--step is for a new function"),
]


@pytest.mark.parametrize(("options", "told"), WRONG)
def test_what_an_operation_cannot_be_given_again_is_said(
    foreign: Application, options: tuple[str, ...], told: str
) -> None:
    foreign.once("init")
    foreign.once(*NEW)
    done = foreign.once("new", "bill-customer", *options)
    assert done.code == 2 and told in done.err, done.err


OF_RULE = ("--from-rule", "ShopBus/InvoiceIssued", "--key", "$.detail.invoice.number")
CRASHES = """
import pytest
import test_by_queue, test_by_rule


@pytest.mark.parametrize("module", [test_by_queue, test_by_rule])
def test_it_is_not_started_again(once_cloud, module):
    [send] = [each for name, each in vars(module).items() if name.endswith("_runs_it_once")]
    with pytest.raises(AssertionError, match="KeyError"):
        send(once_cloud)
    record = once_cloud.record(module.ID)
    assert (record["status"], record["attempts"]) == ("QUARANTINED", 1)
"""


def test_events_that_ask_for_quarantine_start_a_function_that_crashes_once(foreign: Application) -> None:
    foreign.once("init")
    crash = ("--function", "WriteReceipt", "--on-crash", "quarantine")
    of_queue = ("--from-queue", "WarehouseQueue", "--key", "$.body.orderNo", "--example", "samples/reservation.json")
    foreign.once("new", "by-rule", *crash, *OF_RULE, *EXAMPLE)
    foreign.once("new", "by-queue", *crash, *of_queue)
    assert_passes(foreign, "-k", "not_started_again", test=CRASHES)


def added(application: Application) -> tuple[set[str], set[str]]:
    """The resources and the parameters of the operations."""
    operations = parse(application.text(OPERATIONS), application.folder)
    return set(operations["Resources"]), set(operations["Parameters"])


def test_another_trigger_takes_the_place_of_the_former_one(foreign: Application) -> None:
    foreign.once("init")
    assert "has no operation bill-customer: leave --replace out" in foreign.once(*NEW, "--replace").err
    foreign.once("new", "reserve-stock", "--function", "Warehouse")
    foreign.once(*NEW, *EXAMPLE, *OF_RULE)
    former = {name: foreign.text(name) for name in (OPERATIONS, "template.yaml", "events/bill-customer.json")}
    of_queue = ("--from-queue", "WarehouseQueue", "--key", "$.body.orderNo", "--example", "samples/reservation.json")
    done = foreign.once("new", "bill-customer", "--replace", *of_queue)
    assert done.code == 0 and "tests/test_bill_customer.py" in done.out.split(), done.err
    assert 'resources["WarehouseQueue"]' in foreign.text("tests/test_bill_customer.py")
    assert added(foreign)[1] >= {"WarehouseQueueArn"} and "ShopBusName" not in foreign.text("template.yaml")
    assert not {each for each in added(foreign)[0] if "Rule" in each or "DeadLetter" in each}
    assert foreign.once("new", "bill-customer", "--replace", *EXAMPLE, *OF_RULE, "--payload", "$").code == 0
    was, now = (sorted(each.splitlines()) for each in (former[OPERATIONS], foreign.text(OPERATIONS)))
    new = set(now) - set(was)
    assert len(now) == len(was) and all("InputTemplate" in each or "InputPathsMap" in each for each in new), new
    assert sorted(former["template.yaml"].splitlines()) == sorted(foreign.text("template.yaml").splitlines())


def test_nothing_of_an_operation_whose_name_is_longer_is_taken_away(foreign: Application) -> None:
    foreign.once("init")
    for operation in ("bill", "bill-2"):
        assert foreign.once("new", operation, "--function", "BillCustomer", *OF_RULE).code == 0
    before = added(foreign)
    of_bill = {each for each in before[0] if each.startswith("Bill") and not each.startswith("Bill2")}
    assert foreign.once("new", "bill", "--replace").code == 0
    gone = before[0] - added(foreign)[0]
    assert gone < of_bill and "BillRule" in gone and "BillErrorsAlarm" not in gone
    assert added(foreign)[1] == before[1] and "ShopBusName" in foreign.text("template.yaml"), "the other one names it"
    assert foreign.once("new", "bill", "--function", "BillCustomer", "--gets", "request").code == 0
    assert settings(foreign)["PayloadOnlyOperations"] == ["bill-2"] and allowed(foreign) == {"Bill": "BillCustomerRole"}


def test_without_an_example_a_payload_that_was_written_by_hand_stays(foreign: Application) -> None:
    foreign.once("init")
    foreign.once(*NEW, *OF_RULE)
    (foreign.folder / "events/bill-customer.json").write_text("{}")
    assert foreign.once("new", "bill-customer", "--replace").code == 0
    assert foreign.text("events/bill-customer.json") == "{}" and "ShopBus" not in str(added(foreign))


def test_a_function_that_was_written_and_its_permissions_stay(foreign: Application) -> None:
    foreign.once("init")
    foreign.once("new", "send-invoice", "--step")
    import_once(foreign)
    foreign.once(*NEW, *EXAMPLE)
    (foreign.folder / "functions/send_invoice/app.py").write_text("# mine\n")
    for operation in ("send-invoice", "bill-customer"):
        assert foreign.once("new", operation, "--replace", *EXAMPLE, *OF_RULE, "--payload", "$").code == 0
    assert foreign.text("functions/send_invoice/app.py") == "# mine\n"
    assert allowed(foreign) == {"SendInvoice": "SendInvoiceFunctionRole", "BillCustomer": "BillCustomerRole"}
    assert_passes(foreign, "-k", "not send_invoice and not whatever_breaks")


def test_a_list_that_was_written_in_another_way_is_left_alone(foreign: Application) -> None:
    foreign.once("init")
    foreign.once(*NEW)
    operations = foreign.folder / "once" / "operations.yaml"
    text = operations.read_text()
    written = text[: text.index("        PayloadOnlyOperations:")] + "        PayloadOnlyOperations: bill-customer\n"
    operations.write_text(written + text[text.index("          - - bill-customer\n") + 28 :])
    done = foreign.once(*NEW, "--gets", "request")
    assert done.code == 2 and "take bill-customer out of PayloadOnlyOperations of Machine by hand" in done.err
