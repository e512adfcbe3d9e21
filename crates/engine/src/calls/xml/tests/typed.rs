//! Conversion by the schema's types.

use super::{object, read};

#[test]
fn scalars_are_of_their_type() {
    for (schema, text, value) in [
        (r#"{"type":"string"}"#, "007", r#""007""#),
        (r#"{"type":"string"}"#, "", r#""""#),
        (r#"{"type":"integer"}"#, " -3\n", "-3"),
        (r#"{"type":"integer"}"#, "3.0", "3.0"),
        (r#"{"type":"number"}"#, "1.50e+3", "1.50e+3"),
        (
            r#"{"type":"number"}"#,
            "12345678901234567890123",
            "12345678901234567890123",
        ),
        (r#"{"type":"boolean"}"#, " True ", "true"),
        (r#"{"type":"boolean"}"#, "FALSE", "false"),
        (r#"{"type":"null"}"#, "", "null"),
        (r#"{"type":"null"}"#, "null", "null"),
        (r#"{"type":"object"}"#, "", "{}"),
        (r#"{"type":"array"}"#, " <!-- none --> ", "[]"),
    ] {
        assert_eq!(
            read(schema, &format!("<a>{text}</a>")),
            value,
            "{schema} {text}"
        );
    }
}

#[test]
fn what_is_not_of_its_type_is_a_fault() {
    for (schema, texts) in [
        (
            r#"{"type":"integer"}"#,
            &[
                "", "three", "1,000", "0x1", "+1", "01", "1.", "NaN", "1e999", "<b>1</b>",
            ][..],
        ),
        (r#"{"type":"boolean"}"#, &["", "1", "yes", "tru"]),
        (r#"{"type":"null"}"#, &["none"]),
        (r#"{"type":"object"}"#, &["text", "{}"]),
        (r#"{"type":"array"}"#, &["text", "a, b", "<a>1</a><b>2</b>"]),
    ] {
        for text in texts {
            let read = read(schema, &format!("<a>{text}</a>"));

            assert!(read.starts_with("fault: "), "{schema} {text} {read}");
        }
    }
}

#[test]
fn an_empty_element_is_null_where_that_is_allowed() {
    let text = r#"{"type":["string","null"]}"#;
    let number = r#"{"anyOf":[{"type":"number"},{"type":"null"}]}"#;

    for (schema, inside, value) in [
        (text, "", "null"),
        (text, "\n", "null"),
        (text, "<![CDATA[]]>", r#""""#),
        (text, "Ann", r#""Ann""#),
        (text, "null", r#""null""#),
        (number, "", "null"),
        (number, "null", "null"),
        (number, "4", "4"),
        (
            number,
            "four",
            "fault: the answer's outermost element is to be a number",
        ),
        (r#"{"type":["object","null"]}"#, "", "null"),
        (r#"{"type":["object","null"]}"#, "<![CDATA[]]>", "{}"),
        (r#"{"type":["null","array"]}"#, "\n<![CDATA[]]>\n", "[]"),
        (r#"{"enum":["a",null]}"#, "", "null"),
        (r#"{"enum":["",null]}"#, "", "null"),
    ] {
        assert_eq!(
            read(schema, &format!("<a>{inside}</a>")),
            value,
            "{schema} {inside}"
        );
    }
    assert_eq!(read(text, "<a/>"), "null");
}

#[test]
fn missing_elements_stay_missing_and_members_keep_their_order() {
    let schema = r#"{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"integer"},"c":{"type":"string"}},"required":["a","c"]}"#;

    assert_eq!(
        read(schema, "<x><c>1</c><b>2</b></x>"),
        r#"{"c":"1","b":2}"#
    );
}

#[test]
fn a_declared_member_may_be_an_attribute() {
    let schema = object(r#""a":{"type":"integer"},"b":{"type":"string"}"#);

    assert_eq!(
        read(&schema, r#"<x a="1" b='&lt;"&#65;' c="3"/>"#),
        r#"{"a":1,"b":"<\"A"}"#
    );
    assert_eq!(read(&schema, r#"<x a="1"><a>2</a></x>"#), r#"{"a":2}"#);
    let team =
        r#"{"type":"array","items":{"type":"object","properties":{"name":{"type":"string"}}}}"#;
    assert_eq!(
        read(team, r#"<x><member name="Ann"/></x>"#),
        r#"[{"name":"Ann"}]"#
    );
}

#[test]
fn an_array_holds_items() {
    let schema = object(
        r#""tags":{"type":"array","items":{"type":"integer"}},"pairs":{"type":"array","items":{"type":"array","items":{"type":"number"}}}"#,
    );

    for (answer, value) in [
        (
            "<x><tags><item>1</item><item>2</item></tags></x>",
            r#"{"tags":[1,2]}"#,
        ),
        ("<x><tags><Item>1</item></tags></x>", r#"{"tags":[1]}"#),
        (
            "<x><tags><tag>1</tag><tag>2</tag></tags></x>",
            r#"{"tags":[1,2]}"#,
        ),
        ("<x><tags>1</tags><tags>2</tags></x>", r#"{"tags":[1,2]}"#),
        ("<x><tags></tags></x>", r#"{"tags":[]}"#),
        (
            "<x><pairs><item><item>1</item><item>2</item></item><item/></pairs></x>",
            r#"{"pairs":[[1,2],[]]}"#,
        ),
        (
            "<x><pairs><item>1</item></pairs><pairs><item>2</item></pairs></x>",
            r#"{"pairs":[[1],[2]]}"#,
        ),
        (
            "<x><tags>1</tags></x>",
            "fault: /tags is to hold `item` elements",
        ),
        (
            "<x><tags><item>1</item></tags><tags><item>2</item></tags></x>",
            "fault: /tags stands there more than once",
        ),
        (
            "<x><tags><item>1</item><item>b</item></tags></x>",
            "fault: /tags/1 is to be a number",
        ),
    ] {
        assert_eq!(read(&schema, answer), value, "{answer}");
    }
    let people =
        r#"{"type":"array","items":{"type":"object","properties":{"name":{"type":"string"}}}}"#;
    assert_eq!(
        read(people, "<x><person><name>A</name></person></x>"),
        r#"[{"name":"A"}]"#
    );
    assert!(read(people, "<x><name>A</name></x>").starts_with("fault: "));
}

#[test]
fn a_tuple_s_entries_have_their_own_types() {
    let answer = "<x><item>1</item><item>1</item><item>true</item></x>";

    for schema in [
        r#"{"prefixItems":[{"type":"string"},{"type":"integer"}],"items":{"type":"boolean"}}"#,
        r#"{"items":[{"type":"string"},{"type":"integer"}],"additionalItems":{"type":"boolean"}}"#,
    ] {
        assert_eq!(read(schema, answer), r#"["1",1,true]"#);
    }
}

#[test]
fn listed_values_are_of_the_type_that_is_listed() {
    for (schema, text, value) in [
        (r#"{"enum":["a","b c",1,true,null]}"#, " b c ", r#""b c""#),
        (r#"{"enum":["a",1,true,null]}"#, "1", "1"),
        (r#"{"enum":["a",1.0]}"#, "1", "1"),
        (r#"{"enum":["a",1,true,null]}"#, "TRUE", "true"),
        (r#"{"const":"1"}"#, "1", r#""1""#),
        (
            r#"{"const":{"a":[1,"2"]}}"#,
            "<a><item>1</item><item>2</item></a>",
            r#"{"a":[1,"2"]}"#,
        ),
        (r#"{"type":"string","enum":["a"]}"#, "other", r#""other""#),
        (r#"{"anyOf":[{"type":"string"},{"const":1}]}"#, "1", "1"),
    ] {
        assert_eq!(
            read(schema, &format!("<x>{text}</x>")),
            value,
            "{schema} {text}"
        );
    }
}

#[test]
fn a_union_is_read_as_the_first_form_that_fits() {
    let number_first = r#"{"type":["integer","number","string"]}"#;
    let text_or_parts = r#"{"anyOf":[{"type":"string"},{"type":"array","items":{"type":"integer"}},{"type":"object","properties":{"a":{"type":"integer"}}}]}"#;

    for (schema, text, value) in [
        (number_first, "5", "5"),
        (number_first, "5.5", "5.5"),
        (number_first, "5.", r#""5.""#),
        (
            r#"{"oneOf":[{"type":"string"},{"type":"integer"}]}"#,
            "5",
            r#""5""#,
        ),
        (text_or_parts, "5", r#""5""#),
        (text_or_parts, "<item>5</item>", "[5]"),
        (text_or_parts, "<a>5</a>", r#"{"a":5}"#),
        (text_or_parts, "<a>five</a>", r#""<a>five</a>""#),
        (
            r#"{"oneOf":[{"type":"integer"},{"type":"boolean"}]}"#,
            "maybe",
            "fault: the answer's outermost element fits none of the forms that it may have",
        ),
    ] {
        assert_eq!(
            read(schema, &format!("<x>{text}</x>")),
            value,
            "{schema} {text}"
        );
    }
}

#[test]
fn a_union_of_objects_is_told_apart_by_fixed_members_and_by_names() {
    let fixed = r#"{"oneOf":[
        {"type":"object","properties":{"id":{"type":"string"}}},
        {"type":"object","properties":{"kind":{"const":"b"},"id":{"type":"boolean"}}},
        {"type":"object","properties":{"kind":{"enum":["c","d"]},"id":{"type":"integer"}}}]}"#;
    let named = r#"{"anyOf":[
        {"type":"object","properties":{"a":{"type":"string"}}},
        {"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"integer"}},"required":["b"]}]}"#;

    for (schema, inside, value) in [
        (
            fixed,
            "<kind>b</kind><id>true</id>",
            r#"{"kind":"b","id":true}"#,
        ),
        (fixed, "<kind>d</kind><id>7</id>", r#"{"kind":"d","id":7}"#),
        (fixed, "<id>7</id>", r#"{"id":"7"}"#),
        (named, "<a>1</a>", r#"{"a":"1"}"#),
        (named, "<a>1</a><b>2</b>", r#"{"a":1,"b":2}"#),
    ] {
        assert_eq!(read(schema, &format!("<x>{inside}</x>")), value, "{inside}");
    }
}

#[test]
fn parts_of_a_schema_hold_together() {
    let schema = r##"{"allOf":[{"$ref":"#/definitions/base"},{"properties":{"b":{"type":"integer"}}}],
        "anyOf":[{"required":["a"]},{"required":["b"]}],"properties":{"c":{"type":"boolean"}},
        "definitions":{"base":{"type":"object","properties":{"a":{"type":"number"}}}}}"##;

    assert_eq!(
        read(schema, "<x><a>1</a><b>2</b><c>true</c></x>"),
        r#"{"a":1,"b":2,"c":true}"#
    );
    assert_eq!(read(schema, "<x><b>2</b></x>"), r#"{"b":2}"#);
}

#[test]
fn references_lead_anywhere_in_the_schema() {
    let schema = r##"{"type":"object","properties":{"a":{"$ref":"#/$defs/x~1y%20z"},"b":{"$ref":"#named"},"c":{"$ref":"#"},
        "d":{"$ref":"#/nowhere"},"e":{"$ref":"https://example.com"}},
        "$defs":{"x/y z":{"type":"integer"},"n":{"$anchor":"named","type":"boolean"}}}"##;
    let answer = "<x><a>1</a><b>true</b><c><a>2</a></c><d>3</d><e>4</e></x>";

    assert_eq!(
        read(schema, answer),
        r#"{"a":1,"b":true,"c":{"a":2},"d":"3","e":"4"}"#
    );
    assert_eq!(read(r##"{"$ref":"#"}"##, "<x>1</x>"), r#""1""#);
}

#[test]
fn what_no_schema_speaks_of_is_read_as_it_stands() {
    for schema in ["{}", "true", r#"{"type":"object"}"#] {
        let answer = "<x><a>1</a><b><item>true</item><item/></b><c><d> e </d></c><f>1</f><f>2</f><g>h <i>j</i></g></x>";

        assert_eq!(
            read(schema, answer),
            r#"{"a":"1","b":["true",""],"c":{"d":" e "},"f":["1","2"],"g":"h <i>j</i>"}"#
        );
    }
}

#[test]
fn members_without_a_declaration_follow_the_schema_for_the_rest() {
    let rest = r#"{"type":"object","additionalProperties":{"type":"integer"}}"#;
    let patterns = r#"{"type":"object","patternProperties":{"^n":{"type":"integer"},"^b":{"type":"boolean"}}}"#;

    assert_eq!(
        read(
            rest,
            r#"<x><a>1</a><member name="b &amp; &quot;c&quot;">2</member></x>"#
        ),
        r#"{"a":1,"b & \"c\"":2}"#
    );
    assert_eq!(
        read(patterns, "<x><n>1</n><b>true</b><c>text</c></x>"),
        r#"{"n":1,"b":true,"c":"text"}"#
    );
}

#[test]
fn a_name_that_is_no_xml_name_is_written_as_a_member() {
    let schema = object(
        r#""first name":{"type":"string"},"2":{"type":"integer"},"member":{"type":"integer"},"":{"type":"boolean"}"#,
    );
    let answer = r#"<x><member name="first name">Ann</member><member name='2'>3</member><member>4</member><member name="">true</member></x>"#;

    assert_eq!(
        read(&schema, answer),
        r#"{"first name":"Ann","2":3,"member":4,"":true}"#
    );
}
