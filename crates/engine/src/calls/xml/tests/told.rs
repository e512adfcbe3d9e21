//! The demand, inputs and examples.

use crate::calls::xml::{REPAIR, demand, rendered, wrapped_input};

use super::{json, read};

const ORDER: &str = r##"{"type":"object","description":"An order.","required":["id","lines"],"properties":{
    "id":{"type":"string","description":"What the customer calls it --> no more","pattern":"^A"},
    "state":{"enum":["open","closed",null],"title":"State"},
    "note":{"type":["string","null"]},
    "lines":{"type":"array","minItems":1,"items":{"$ref":"#/$defs/line"}},
    "gift":{"$ref":"#/$defs/line","description":"A gift."},
    "by":{"anyOf":[{"type":"integer","minimum":1},{"type":"object","properties":{"first name":{"type":"string"}}}]},
    "extra":{"type":"object","additionalProperties":{"type":"number"}}},
    "$defs":{"line":{"type":"object","properties":{"count":{"type":"integer"},"parts":{"type":"array","items":{"$ref":"#/$defs/line"}}}}}}"##;

#[test]
fn the_demand_sketches_the_form() {
    let told = demand(&json(ORDER));

    let (rules, sketch) = told.split_once("\n\n").unwrap();
    assert!(rules.contains("`item`") && rules.contains("null") && rules.contains("`member`"));
    assert_eq!(
        sketch,
        r#"<answer> <!-- An order. -->
  <id>TEXT</id> <!-- required; pattern ^A; What the customer calls it -- > no more -->
  <state>VALUE</state> <!-- optional; one of: open | closed | null; State -->
  <note>TEXT</note> <!-- optional; may be null -->
  <lines> <!-- required; minItems 1 -->
    <item> <!-- one for each entry -->
      <count>INTEGER</count> <!-- optional -->
      <parts> <!-- optional -->
        <item>ELEMENTS</item> <!-- one for each entry; of the same form as <item> above -->
      </parts>
    </item>
  </lines>
  <gift>ELEMENTS</gift> <!-- optional; A gift.; of the same form as <item> above -->
  <by>INTEGER</by> <!-- optional; form 1 of 2: write one of them; minimum 1 -->
  <by> <!-- optional; form 2 of 2: write one of them -->
    <member name="first name">TEXT</member> <!-- optional -->
  </by>
  <extra> <!-- optional -->
    <NAME>NUMBER</NAME> <!-- any number of members of any name -->
  </extra>
</answer>"#
    );
}

#[test]
fn rules_that_a_schema_has_no_need_for_are_not_told() {
    let told = demand(&json(
        r#"{"type":"object","properties":{"a":{"type":"boolean"}}}"#,
    ));

    assert!(
        !told.contains("null") && !told.contains("`member`"),
        "{told}"
    );
    assert!(told.ends_with("<answer>\n  <a>true or false</a> <!-- optional -->\n</answer>"));
}

#[test]
fn members_under_conditions_are_sketched_as_optional_ones() {
    let told = demand(&json(
        r#"{"type":"object","properties":{"kind":{"enum":["a","b"]}},"required":["kind"],
        "if":{"properties":{"kind":{"const":"a"}}},
        "then":{"properties":{"n":{"type":"integer"}},"required":["n"]},
        "else":{"properties":{"n":{"type":"boolean"},"t":{"type":"string"}}},
        "dependentSchemas":{"t":{"properties":{"u":{"type":"number"}}}}}"#,
    ));

    let (_, sketch) = told.split_once("\n\n").unwrap();
    assert_eq!(
        sketch,
        r"<answer>
  <kind>VALUE</kind> <!-- required; one of: a | b -->
  <n>INTEGER</n> <!-- optional -->
  <n>true or false</n> <!-- optional -->
  <t>TEXT</t> <!-- optional -->
  <u>NUMBER</u> <!-- optional -->
</answer>"
    );
}

#[test]
fn any_schema_can_be_sketched() {
    let nested = format!("{}{{}}{}", r#"{"items":"#.repeat(60), "}".repeat(60));
    let wide: Vec<String> = (0..2000)
        .map(|at| format!(r#""p{at}":{{"type":"integer"}}"#))
        .collect();
    let wide = format!(r#"{{"properties":{{{}}}}}"#, wide.join(","));

    for schema in [
        "true",
        "false",
        "{}",
        r##"{"$ref":"#"}"##,
        r##"{"items":{"$ref":"#"}}"##,
        &nested,
        &wide,
    ] {
        let told = demand(&json(schema));

        assert!(told.contains("<answer>") && told.ends_with('>'), "{schema}");
        assert!(told.len() < 3000 + 64 * schema.len());
    }
}

#[test]
fn references_that_fork_again_and_again_are_sketched_once() {
    let level = |at: usize| {
        let below = format!(r##"{{"$ref":"#/$defs/d{}"}}"##, at + 1);
        format!(r#""d{at}":{{"type":"object","properties":{{"a":{below},"b":{below}}}}}"#)
    };
    let levels: Vec<String> = (0..40).map(level).collect();
    let schema = format!(
        r##"{{"$ref":"#/$defs/d0","$defs":{{{},"d40":{{}}}}}}"##,
        levels.join(",")
    );

    assert!(demand(&json(&schema)).len() < 20_000);
}

#[test]
fn an_input_cannot_leave_its_tag() {
    assert_eq!(
        wrapped_input("</t1> & <b>\"x\"</b>", "t1"),
        "<t1>&lt;/t1&gt; &amp; &lt;b&gt;\"x\"&lt;/b&gt;</t1>"
    );
}

#[test]
fn an_example_s_answer_is_written_as_it_is_asked_for() {
    let value = json(
        r#"{"name":"A & B","tags":["x"," y\n",""],"none":[],"no one":null,"n":1.50,"ok":true}"#,
    );

    assert_eq!(
        rendered(&value),
        r#"<answer>
  <name>A &amp; B</name>
  <tags>
    <item>x</item>
    <item>&#32;y&#10;</item>
    <item><![CDATA[]]></item>
  </tags>
  <none><![CDATA[]]></none>
  <member name="no one"></member>
  <n>1.50</n>
  <ok>true</ok>
</answer>"#
    );
}

#[test]
fn a_repair_asks_for_xml() {
    assert!(REPAIR.contains("XML only") && read("{}", REPAIR).starts_with("fault: "));
}
