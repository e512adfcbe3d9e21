//! Revisions of functions. They are never changed.

use domain::{Definition, Json, Page, Paged, Revision, Settings};
use rusqlite::{Connection, Row, params};

use crate::sqlite::{fault::Fault, row};

const INSERT: &str = "
    INSERT INTO revisions
        (id, function_id, number, instructions, input_schema, output_schema, model, configuration, created_at, digest)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)";

/// Restricted to the project by way of the function.
const SELECT: &str = "
    SELECT r.id, r.function_id, r.instructions, r.input_schema, r.output_schema, r.model, r.configuration, r.created_at
    FROM revisions r JOIN functions f ON f.id = r.function_id
    WHERE f.project_id = ?1 AND f.id = ?2";

/// Goes on after [`SELECT`]. A digest may be another definition's as well.
const WITH: &str = "
    AND r.digest IS ?3 AND r.instructions = ?4 AND r.input_schema IS ?5 AND r.output_schema IS ?6 AND r.model IS ?7
    AND r.configuration = ?8
    ORDER BY r.number DESC LIMIT 1";

const COUNT: &str = "
    SELECT count(*) FROM revisions r JOIN functions f ON f.id = r.function_id WHERE f.project_id = ?1 AND f.id = ?2";

/// A definition as it is kept.
struct Columns<'a> {
    instructions: &'a str,
    input_schema: Option<&'a str>,
    output_schema: Option<&'a str>,
    model: Option<Json>,
    configuration: Json,
}

impl<'a> From<&'a Definition> for Columns<'a> {
    fn from(definition: &'a Definition) -> Self {
        Self {
            instructions: &definition.instructions,
            input_schema: definition.input_schema.as_ref().map(Json::text),
            output_schema: definition.output_schema.as_ref().map(Json::text),
            model: definition.model.as_ref().map(Json::of),
            configuration: Json::of(definition.configuration.given()),
        }
    }
}

impl Columns<'_> {
    fn model(&self) -> Option<&str> {
        self.model.as_ref().map(Json::text)
    }

    /// A number that is hardly ever that of another definition: FNV-1a over all columns, each with a mark behind it.
    ///
    /// It is kept, so it must stay as it is.
    fn digest(&self) -> i64 {
        const START: u64 = 0xcbf2_9ce4_8422_2325;
        const PRIME: u64 = 0x0000_0100_0000_01b3;

        let columns = [
            Some(self.instructions),
            self.input_schema,
            self.output_schema,
            self.model(),
            Some(self.configuration.text()),
        ];
        // No byte of UTF-8 text is one of the marks.
        let marked = |column: Option<&'_ str>| if column.is_some() { 0xff } else { 0xfe };
        let digest = columns.into_iter().fold(START, |digest, column| {
            let text = column.unwrap_or_default();
            let bytes = text.bytes().chain([marked(column)]);
            bytes.fold(digest, |digest, byte| {
                (digest ^ u64::from(byte)).wrapping_mul(PRIME)
            })
        });
        digest.cast_signed()
    }
}

/// Keeps a revision under its number.
pub(super) fn keep(connection: &Connection, number: i64, revision: &Revision) -> Result<(), Fault> {
    let columns = Columns::from(&revision.definition);
    connection.prepare_cached(INSERT)?.execute(params![
        revision.id.uuid().into_bytes(),
        revision.function_id.uuid().into_bytes(),
        number,
        columns.instructions,
        columns.input_schema,
        columns.output_schema,
        columns.model(),
        columns.configuration.text(),
        revision.created_at.micros(),
        columns.digest(),
    ])?;
    Ok(())
}

/// One revision, by the ids of the project, of the function and its own.
pub(super) fn find(connection: &Connection, key: [[u8; 16]; 3]) -> Result<Option<Revision>, Fault> {
    let sql = format!("{SELECT} AND r.id = ?3");
    row::first(connection, &sql, key, read)
}

/// Asks for the newest revision of a function with certain columns.
pub(super) fn with() -> String {
    format!("{SELECT} {WITH}")
}

/// The newest revision of a function that has this definition, to the letter.
pub(super) fn find_with(
    connection: &Connection,
    key: [[u8; 16]; 2],
    definition: &Definition,
) -> Result<Option<Revision>, Fault> {
    let sql = with();
    let columns = Columns::from(definition);
    // Those without a digest are older than those with one.
    for digest in [Some(columns.digest()), None] {
        let asked = params![
            key[0],
            key[1],
            digest,
            columns.instructions,
            columns.input_schema,
            columns.output_schema,
            columns.model(),
            columns.configuration.text(),
        ];
        let found = row::first(connection, &sql, asked, read)?;
        if found.is_some() {
            return Ok(found);
        }
    }
    Ok(None)
}

/// The revisions of a function, newest first.
pub(super) fn page(
    connection: &Connection,
    key: [[u8; 16]; 2],
    page: Page,
) -> Result<Paged<Revision>, Fault> {
    // One look at the database, so that page and total agree.
    let look = connection.unchecked_transaction()?;
    let sql = format!("{SELECT} ORDER BY r.number DESC LIMIT ?3 OFFSET ?4");
    let asked = params![key[0], key[1], page.limit, page.offset];
    let items = row::all(&look, &sql, asked, read)?;
    let total = row::count(&look, COUNT, key)?;
    Ok(Paged { items, total })
}

fn read(row: &Row<'_>) -> Result<Revision, Fault> {
    read_from(row, 0)
}

/// A revision, from the column of its id on.
pub(super) fn read_from(row: &Row<'_>, first: usize) -> Result<Revision, Fault> {
    let model: Option<String> = row.get(first + 5)?;
    let configuration: String = row.get(first + 6)?;
    Ok(Revision {
        id: row::id(row, first)?,
        function_id: row::id(row, first + 1)?,
        definition: Definition {
            instructions: row.get(first + 2)?,
            input_schema: row::optional_json(row, first + 3)?,
            output_schema: row::optional_json(row, first + 4)?,
            model: model
                .map(|text| serde_json::from_str(&text))
                .transpose()
                .map_err(|error| Fault::corrupt("a revision's model", error))?,
            configuration: read_settings(&configuration)?,
        },
        created_at: row::time(row, first + 7)?,
    })
}

fn read_settings(text: &str) -> Result<Settings, Fault> {
    let given = serde_json::from_str(text)
        .map_err(|error| Fault::corrupt("a revision's configuration", error))?;
    Settings::parse(given).map_err(|invalid| Fault::corrupt("a revision's configuration", invalid))
}
