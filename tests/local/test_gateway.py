"""API Gateway on this machine: routes, mapping templates and their variables, and what it answers by itself."""

from __future__ import annotations

from typing import Any

import airspeed
import pytest

from oncekit.local.gateway.refusals import Refused, answer_to
from oncekit.local.gateway.rest_api import RestApi
from oncekit.local.gateway.variables import Input, Util, new_context
from oncekit.local.gateway.velocity import TemplateFault, render

MAPPING = "API Gateway Developer Guide, mapping template and access logging variable reference"
PARAMETERS = {"path": {"x": "path"}, "querystring": {"x": "query", "y": "query"}, "header": {"y": "header", "z": "h"}}


def made(template: str, body: str = "", **more: Any) -> str:
    return render(template, {"input": Input(body, PARAMETERS), "util": Util(), **more})


# ---- routes ----


def api(*paths: str, **body: Any) -> RestApi:
    return RestApi("id", "live", {"paths": {path: {"get": {"operationId": path}} for path in paths}, **body})


@pytest.mark.aws(unconfirmed="V64")
@pytest.mark.parametrize(
    ("path", "resource", "parameters"),
    [
        ("/a/x", "/a/{b}", {"b": "x"}),
        ("/a/c", "/a/c", {}),
        ("/a/x%2Fy%20", "/a/{b}", {"b": "x%2Fy%20"}),
        ("/p/x/y", "/p/{rest+}", {"rest": "x/y"}),
    ],
)
def test_a_path_leads_to_its_resource_and_a_fixed_one_goes_first(
    path: str, resource: str, parameters: dict[str, str]
) -> None:
    found = api("/a/{b}", "/a/c", "/p/{rest+}").route("GET", path)
    assert found is not None
    assert (found[0].resource, found[1]) == (resource, parameters)


# ---- $input and $util ----


@pytest.mark.aws(
    MAPPING,
    "Returns the value of a method request parameter from the path, query string, or header value (searched in that "
    "order), given a parameter name string",
)
def test_a_parameter_is_looked_for_in_the_path_the_query_and_the_headers() -> None:
    assert made("$input.params('x') $input.params('y') $input.params('z') $input.params('none')") == "path query h "
    assert made('$input.params().get("header").get("y")') == "header"


@pytest.mark.aws(
    recorded="LocalStack, test_apigateway_common.snapshot.json, test_input_body_formatting, 19-03-2025",
    says="an empty body is {}, another one raw, and urlEncode makes %7B%22some%22%3A+%22value%22%7D of one",
)
def test_the_body_is_the_raw_payload_and_an_empty_one_is_an_object() -> None:
    template = "#set($result = $input.body)$result"
    assert [made(template, body) for body in ("", '{"some": "value"}', "some raw data")] == [
        "{}", '{"some": "value"}', "some raw data",
    ]  # fmt: skip
    encoded = "EncodedBody=$util.urlEncode($input.body)"
    assert made(encoded, '{"some": "value"}') == "EncodedBody=%7B%22some%22%3A+%22value%22%7D"
    assert made(encoded, "some raw data") == "EncodedBody=some+raw+data"


@pytest.mark.aws(
    MAPPING,
    "This function will turn any regular single quotes (') into escaped ones (\\'). However, the escaped single quotes "
    "are not valid in JSON.",
)
def test_single_quotes_are_escaped_and_can_be_put_back() -> None:
    body = "it's \\' \"quoted\""
    assert made("$util.escapeJavaScript($input.body)", body) == "it\\'s \\\\\\' \\\"quoted\\\""
    put_back = """$util.escapeJavaScript($input.body).replaceAll("\\\\'", "'")""".replace("\\\\", "\\\\")
    assert made(put_back, "it's") == "it's"


@pytest.mark.aws(
    "API Gateway Developer Guide, Mapping template reference",
    "This function evaluates a JSONPath expression and returns the results as a JSON string",
)
def test_a_part_of_the_body_is_written_as_json() -> None:
    assert made("$input.json('$.a')", '{"a": {"b": 1}}') == '{"b": 1}'


@pytest.mark.ours
def test_a_part_that_is_not_there_is_an_empty_text() -> None:
    assert made("$input.json('$.none')", "{}") == '""'


@pytest.mark.aws(unconfirmed="V66")
def test_characters_outside_ascii_are_escaped() -> None:
    assert made("$util.escapeJavaScript($input.body)", "é\U0001f680\n\x00/") == "\\u00E9\\uD83D\\uDE80\\n\\u0000\\/"


# ---- Velocity ----


@pytest.mark.ours
@pytest.mark.parametrize(
    "template",
    [
        "$nothing",
        "#if($input.params('none'))yes#end",
        "#if($util.parseJson('{}').a)yes#end",
        '$input.body.noSuchMethod("x")',
        "$input.body.replaceAll('a', '$1')",
        "$input.json('$.a[0]')",
        "#if(1 == )x#end",
    ],
)
def test_what_velocity_would_print_as_it_is_or_read_in_two_ways_is_a_fault(template: str) -> None:
    with pytest.raises(TemplateFault):
        made(template, "{}")


@pytest.mark.ours
def test_what_a_sender_writes_is_never_read_as_a_template() -> None:
    body = "$util.urlEncode('x')#set($y = 1)${z}##"
    assert made("<$input.body>", body) == f"<{body}>"
    assert made('#set($x = "[$input.body]")$x', body) == f"[{body}]"


@pytest.mark.aws(
    "API Gateway Developer Guide, use a mapping template to override an API's request and response parameters",
    "An override may only be applied to each parameter once.",
)
@pytest.mark.parametrize("override", ["status = 409", 'header.A-b = "c"'])
def test_a_template_overrides_a_status_or_a_header_once(override: str) -> None:
    context = new_context("live", "GET", 1.5, {})
    template = f"#set($context.responseOverride.{override})"
    assert made(template, context=context) == ""
    assert context["responseOverride"] in ({"status": 409, "header": {}}, {"header": {"A-b": "c"}})
    with pytest.raises(TemplateFault):
        made(template, context=context)


VALUES = '{"map": {"a": "b", "c": [1, "d"], "e": null, "f": {"g": true}}, "list": [{"a": "b"}, null], "none": null}'


@pytest.mark.aws(
    recorded="LocalStack, test_apigateway_common.snapshot.json, test_input_path_template_formatting, 18-06-2025",
    says='a map is {foo=bar}, a list is [{"foo":"bar"}], null is nothing, and equal to null and to an empty text',
)
@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("$v.map", '{a=b, c=[1,"d"], e=null, f={g=true}}'),
        ("$v.map.toString()", '{a=b, c=[1,"d"], e=null, f={g=true}}'),
        ("$v.list", '[{"a":"b"},null]'),
        ("$v.list[0]", "{a=b}"),
        ('#set($x = "<$v.map.f>")$x', "<{g=true}>"),
        ("<$v.none>", "<>"),
        ("<$v.list.count>", "<>"),
        ('#if($v.none == $null)a#end#if($v.none == "")b#end#if($v.none != "")c#end', "ab"),
        ('#if($v.list == $null)a#end#if($v.list == "")b#end#if($v.list != "")c#end', "c"),
        ("$util.urlEncode($v.none)", ""),
    ],
)
def test_values_print_and_compare_as_on_aws(template: str, expected: str) -> None:
    assert made(f"#set($v = $input.path('$')){template}", VALUES) == expected


@pytest.mark.aws(
    "Java's specification, AbstractCollection and AbstractMap, toString",
    "Adjacent elements are separated by the characters",
)
def test_a_list_of_the_template_prints_as_java_prints_it() -> None:
    assert made("#set($x = ['a', 1, true])$x $x.size() $x.isEmpty() $input.params().keySet()") == (
        "[a, 1, true] 3 false [path, querystring, header]"
    )


@pytest.mark.aws(
    recorded="LocalStack, test_apigateway_integrations.snapshot.json, VTL map assignation, 29-05-2025",
    says="what a template puts into a map of $context is there for the next one",
)
def test_a_template_puts_into_a_map_of_the_context() -> None:
    context = new_context("live", "GET", 1.5, {})
    assert made('$context.requestOverride.querystring.put("a", "b")', context=context) == ""
    assert made('$context["requestOverride"].querystring["a"]', context=context) == "b"
    with pytest.raises(TemplateFault):
        made('$context.requestOverride.querystring.put("a", "c")', context=context)


@pytest.mark.ours
def test_airspeed_stays_as_it_is_for_everybody_else() -> None:
    assert made("$input.body", "x") == "x"
    assert airspeed.Template("#if($x)$x#end").merge({"x": {"a": "b"}}) == "{'a': 'b'}"


# ---- what it answers by itself ----


@pytest.mark.aws(
    "API Gateway Developer Guide, gateway response types",
    "The gateway response for a missing authentication token error, including the cases when the client attempts to "
    "invoke an unsupported API method or resource.",
)
def test_a_refusal_is_the_apis_own_or_the_default_of_its_class() -> None:
    refused = Refused("MISSING_AUTHENTICATION_TOKEN", 'no "token"')
    assert answer_to(refused, {}).body == b'{"message":"no \\"token\\""}'
    own = {"statusCode": "404", "responseTemplates": {"application/json": "<$context.error.messageString>"}}
    assert answer_to(refused, {"MISSING_AUTHENTICATION_TOKEN": own}).status == 404
    of_class = answer_to(refused, {"DEFAULT_4XX": {"responseParameters": {"gatewayresponse.header.A": "'b'"}}})
    assert (of_class.status, of_class.headers["A"]) == (403, "b")


@pytest.mark.aws(
    "API Gateway Developer Guide, important notes for REST APIs",
    "Customizing the default gateway response for `413 REQUEST_TOO_LARGE` isn't currently supported.",
)
def test_what_is_too_large_for_api_gateway_gets_its_own_answer_whatever_the_api_says() -> None:
    own = {"statusCode": "400", "responseTemplates": {"application/json": "{}"}}
    answer = answer_to(Refused("REQUEST_TOO_LARGE", "Request Too Long"), {"REQUEST_TOO_LARGE": own, "DEFAULT_4XX": own})
    assert (answer.status, answer.body) == (413, b'{"message":"Request Too Long"}')
    assert answer.headers == {"Content-Type": "application/json"}
