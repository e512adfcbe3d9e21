//! The whole answer or none, and what is said of its layout.

use super::{TEXT, json, object, person, read};

#[test]
fn what_is_cut_or_torn_is_a_fault() {
    for (answer, fault) in [
        ("", "the answer holds no closed XML element"),
        (
            "{\"name\":\"Ann\"}",
            "the answer holds no closed XML element",
        ),
        ("<answer><name>Ann", "the element `answer` is not closed"),
        (
            "</think><answer><name>Ann</name></answer>",
            "the tag `</think>` closes nothing",
        ),
        (
            "<think>Ann</think>",
            "the answer holds nothing but the element `think`",
        ),
        (
            "<think><name>Ann</name></think><answ",
            "the answer ends within a tag",
        ),
        (
            "<answer><name><![CDATA[Ann</name></answer>",
            "a CDATA section is not closed",
        ),
        (
            "<a><name>Ann</name></a><b/>",
            "the answer holds more than one outermost element, and none is named `answer`",
        ),
        (
            "<answer><name>Ann<age>3</age></answer>",
            "the element `name` is not closed",
        ),
        (
            "<answer><name>the </name> tag</name></answer>",
            "the tag `</name>` closes nothing",
        ),
        (
            "<answer>Ann</answer>",
            "the answer's outermost element is to hold elements, not text",
        ),
        (
            "<answer><age>3</age><age>4</age></answer>",
            "/age stands there more than once",
        ),
        (
            "<answer><age>three</age></answer>",
            "/age is to be a number",
        ),
    ] {
        assert_eq!(
            read(&person(), answer),
            format!("fault: {fault}"),
            "{answer}"
        );
    }
}

#[test]
fn no_part_of_an_answer_is_taken_for_the_whole() {
    let n = object(r#""n":{"type":"integer"}"#);
    let manager = r#"{"type":"object","required":["name"],"properties":{"name":{"type":"string"},
        "manager":{"type":"object","properties":{"name":{"type":"string"},"email":{"type":"string"}}}}}"#;
    let people = object(
        r#""name":{"type":"string"},"people":{"type":"array","items":{"type":"object","properties":{"name":{"type":"string"}}}}"#,
    );

    for (schema, answer, fault) in [
        (
            manager,
            "<answer><manager><name>Bob</name><email>b@x</email></manager><name>Al",
            "the element `answer` is not closed",
        ),
        (
            &people,
            "<answer><people><item><name>Bob</name></item><item><name>Al",
            "the element `answer` is not closed",
        ),
        (
            TEXT,
            "Text <answer>hello <b>world</b> and mo",
            "the element `answer` is not closed",
        ),
        (
            &n,
            "First try: <answer><n>1</n></answer>. No, better: <answer><n>2</n>",
            "the element `answer` is not closed",
        ),
        (
            &n,
            "Form: <answer><n>1</n></answer> Mine: <answer><n>twelve</n></answer>",
            "the answer holds more than one `answer` element",
        ),
        (
            &n,
            "<ANSWER><n>1</n></ANSWER><answer/>",
            "the answer holds more than one `answer` element",
        ),
        (
            &n,
            "<answer><list><n>4</n></list><n>5</n>",
            "the element `answer` is not closed",
        ),
        (
            &n,
            "<answer><n>4</n></answer><think>or five",
            "the element `think` is not closed",
        ),
        (
            TEXT,
            "<answer>write </answer> at the end</answer>",
            "the tag `</answer>` closes nothing",
        ),
        (
            &n,
            "<answer><answer><n>4</n></answer>",
            "the element `answer` is not closed",
        ),
        (
            TEXT,
            "It is <b>bold</b>.",
            "the answer's only element stands amid text",
        ),
    ] {
        assert_eq!(read(schema, answer), format!("fault: {fault}"), "{answer}");
    }
    let whole = "<answer><list><n>4</n></list><n>5</n></answer>";
    assert_eq!(read(&n, whole), r#"{"list":{"n":"4"},"n":5}"#);
}

#[test]
fn it_is_said_when_layout_was_taken_off() {
    for (schema, inside, value, is_stripped) in [
        (TEXT, "Ann", r#""Ann""#, false),
        (TEXT, " Ann\n", r#"" Ann\n""#, false),
        (TEXT, "\nAnn\n", r#""Ann""#, true),
        (r#"{"enum":["a"," a"]}"#, " a", r#"" a""#, false),
        (r#"{"enum":["a","b"]}"#, " a", r#""a""#, true),
        (r#"{"enum":[5," 5"]}"#, " 5", r#"" 5""#, false),
        (r#"{"type":"integer"}"#, "\n5\n", "5", false),
        (
            r#"{"anyOf":[{"type":"string","maxLength":1},{"type":"boolean"}]}"#,
            "\ntrue\n",
            "true",
            false,
        ),
    ] {
        let answer = format!("<answer>{inside}</answer>");

        let (read, was_stripped) = crate::calls::xml::read(&answer, &json(schema)).unwrap();

        assert_eq!(
            (read.text(), was_stripped),
            (value, is_stripped),
            "{schema} {inside:?}"
        );
    }
}
