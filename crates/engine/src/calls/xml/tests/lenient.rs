//! Almost-XML.

use std::time::{Duration, Instant};

use super::{TEXT, object, person, read};

#[test]
fn what_stands_around_the_answer_is_passed_over() {
    let answer = "<answer><name>Ann</name><age>3</age></answer>";

    for text in [
        answer.to_owned(),
        format!("\n  {answer}\n"),
        format!("```xml\n{answer}\n```"),
        format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n{answer}"),
        format!("<!DOCTYPE answer [<!ENTITY a \"b\">]>\n{answer}"),
        format!(
            "Here is what you <b>asked</b> for, as 1 < 2:\n{answer}\nI hope that it helps. <br/>"
        ),
        format!("<think>Is it <name>Bob</name>? <answer><name>Bob</name></answer></think>{answer}"),
        answer.replace("answer", "Person"),
        format!("{answer} as 3 <b and so on"),
        format!("Here: {}", answer.replace("answer", "person")),
        answer.replace("answer", "x:person"),
        answer.replace("<answer>", "<answer xmlns=\"urn:x\" id='7'>"),
    ] {
        assert_eq!(
            read(&person(), &text),
            r#"{"name":"Ann","age":3}"#,
            "{text}"
        );
    }
}

#[test]
fn white_space_comments_and_case_do_not_matter_between_elements() {
    let answer = "<answer>\n <!-- <name>Bob</name> -->\n <Name >Ann</nAME >\n\n <?skip <age>4</age>?><age id=\"1\"> 3 </Age>\n</ANSWER\n>";

    assert_eq!(read(&person(), answer), r#"{"name":"Ann","age":3}"#);
}

#[test]
fn stray_text_between_elements_is_passed_over() {
    let answer = "<answer>The person: <name>Ann</name>, aged <age>3</age>.</answer>";

    assert_eq!(read(&person(), answer), r#"{"name":"Ann","age":3}"#);
}

#[test]
fn references_and_sections_are_resolved() {
    for (inside, text) in [
        (
            "a &amp; b &lt;c&gt; &quot;d&quot; &apos;e&apos;",
            r#"a & b <c> \"d\" 'e'"#,
        ),
        ("&#65;&#x42;&#X43; &#128512;", "ABC 😀"),
        ("&amp;lt;", "&lt;"),
        ("<![CDATA[a < b && c]]>", "a < b && c"),
        ("\n  <![CDATA[\n  a\n]]>\n", "\\n  a\\n"),
        ("x <![CDATA[<y>]]> z", "x <y> z"),
        ("a<!-- b -->c", "a<!-- b -->c"),
    ] {
        let answer = format!("<answer>{inside}</answer>");

        assert_eq!(read(TEXT, &answer), format!("\"{text}\""), "{inside}");
    }
}

#[test]
fn what_begins_no_markup_stands_for_itself() {
    for text in [
        "a & b && c &nbsp; &unknown; &; &#; &#xD800; &#1114112; AT&T",
        "a < b, 1<2, <3, <-, <, << >> < x >",
        "a <b and c",
        "</ x>",
        "x <!-- never closed",
        "x <? never closed",
        "<b c='d",
    ] {
        let answer = format!("<answer>{text}</answer>");

        assert_eq!(read(TEXT, &answer), serde_json::to_string(text).unwrap());
    }
}

#[test]
fn markup_in_a_string_is_part_of_it() {
    for text in [
        "Use <b>bold</b> and <br/> <img src='a.png'>",
        "<p class='x'>One</p>\n<p>Two</p>",
        "a Vec<String> and a </p> too many",
        "<answer>nested</answer> whole",
        "<?php echo 1 ?>",
    ] {
        let answer = format!("<answer>{text}</answer>");

        assert_eq!(read(TEXT, &answer), serde_json::to_string(text).unwrap());
    }
}

#[test]
fn a_tag_that_a_string_mentions_breaks_no_other_element() {
    let schema = object(r#""a":{"type":"array","items":{"type":"string"}},"b":{"type":"string"}"#);
    let answer = "<answer><a><item>an <item> tag</item><item>a <b> tag</item></a><b>the <b> tag</b></answer>";

    assert_eq!(
        read(&schema, answer),
        r#"{"a":["an <item> tag","a <b> tag"],"b":"the <b> tag"}"#
    );
}

#[test]
fn an_entity_of_a_document_type_is_not_expanded() {
    let answer = "<!DOCTYPE a [<!ENTITY x SYSTEM \"file:///etc/passwd\"><!ENTITY y \"&x;&x;\">]><answer>&x;&y;</answer>";

    assert_eq!(read(TEXT, answer), r#""&x;&y;""#);
}

#[test]
fn layout_is_no_part_of_a_string_and_all_else_is() {
    for (inside, text) in [
        ("Ann", "Ann"),
        (" Ann ", " Ann "),
        ("\n  Ann\n", "  Ann"),
        ("\r\n\tAnn\r\n", "\tAnn"),
        (
            "\n    def f():\n        pass\n  ",
            "    def f():\n        pass",
        ),
        ("\n\n  a\n\n  b\n\n", "\n  a\n\n  b\n"),
        ("a\n  b\n", "a\n  b\n"),
        ("\na\n  b", "\na\n  b"),
        (" \na\n", " \na\n"),
        (" <![CDATA[ a ]]> ", "  a  "),
        ("\n", ""),
        ("&#32;&#10;a&#10;", " \na\n"),
        ("\n  ", ""),
        (" ", " "),
        ("", ""),
        ("\n <![CDATA[ a ]]> b\n", " <![CDATA[ a ]]> b"),
    ] {
        let answer = format!("<answer>{inside}</answer>");
        let text = text.replace("<![CDATA[ a ]]>", " a ");

        assert_eq!(
            read(TEXT, &answer),
            serde_json::to_string(&text).unwrap(),
            "{inside:?}"
        );
    }
}

#[test]
fn nesting_without_measure_is_a_fault() {
    let nested = |depth| format!("{}{}", "<a>".repeat(depth), "</a>".repeat(depth));

    assert!(read("{}", &nested(100)).starts_with(r#"{"a":{"a":"#));
    assert!(read("{}", &nested(1000)).starts_with("fault: "));
    assert!(read(TEXT, &nested(1000)).starts_with("\"<a><a>"));
}

#[test]
fn hostile_answers_are_read_in_linear_time() {
    let recursive = r##"{"$defs":{"n":{"anyOf":[{"type":"integer"},{"type":"object","properties":{"a":{"$ref":"#/$defs/n"}},"required":["b"]},
        {"type":"object","properties":{"a":{"$ref":"#/$defs/n"},"b":{"type":"integer"}}},{"type":"array","items":{"$ref":"#/$defs/n"}}]}},"$ref":"#/$defs/n"}"##;
    let units = [
        "<a>",
        "</a>",
        "<a></a>",
        "&",
        "<",
        "<a ",
        "<a b=\"",
        "<a b='<c d=\"",
        "<!--",
        "<![CDATA[",
        "<?",
        "</",
        "&#",
        "<a/>",
        "\n",
        " ",
        "<item>",
        "<a>x</a>",
        "<item><item>",
        "<a>\n<b>",
        "<!-- -->",
        "]]>",
        "&amp;",
        "<A></a>",
    ];
    let schemas = [TEXT, "{}", r#"{"type":"array"}"#, &person(), recursive];

    for unit in units {
        let many = unit.repeat((1 << 14) / unit.len());
        let nested = "<a>".repeat(100) + &many + &"</a>".repeat(100);
        for answer in [
            many.clone(),
            format!("<answer>{many}</answer>"),
            format!("<answer><name>{many}</name></answer>"),
            format!("<answer>{nested}</answer>"),
        ] {
            for schema in schemas {
                check_time(schema, &answer, Duration::from_secs(1));
            }
        }
    }
    for unit in ["<a>", "&", "<"] {
        let answer = format!("<answer>{}</answer>", unit.repeat((1 << 20) / unit.len()));
        check_time(TEXT, &answer, Duration::from_secs(10));
    }
}

fn check_time(schema: &str, answer: &str, limit: Duration) {
    let started = Instant::now();

    let length = read(schema, answer).len();

    let (took, beginning) = (started.elapsed(), &answer[..32]);
    assert!(took < limit, "{beginning} {schema} took {took:?}");
    assert!(length <= 7 * answer.len());
}
