//! A sheet: a table that is being written, a group of rows at a time.

use std::fs::File;
use std::sync::Arc;

use parquet::basic::{Compression, LogicalType, Repetition, TimeUnit, Type as PhysicalType, ZstdLevel};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::errors::Result;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::{ColumnPath, Type};

use super::TABLES_VERSION;
use super::columns::{Column, ColumnKind, Get};

/// What stands before the version of the program that wrote a file.
pub(super) const PROGRAM: &str = "rehearsal ";
/// Rows are written when they have so many bytes, of which about half stays in memory meanwhile once more.
const GROUP: usize = 16 << 20;
/// What a value takes beside its text.
const VALUE: usize = 40;
/// How many values are looked at before a page is found to be full. Texts may be long.
const STEP: usize = 64;

/// A table that is being written.
pub(super) struct Sheet<R> {
    columns: Vec<Column<R>>,
    buffers: Vec<Buffer>,
    /// Of the rows that wait.
    bytes: usize,
    pub(super) rows: u64,
    writer: SerializedFileWriter<File>,
}

/// The values of a column in the rows that wait.
struct Buffer {
    values: Values,
    /// 1 where a row has a value, 0 where it has none.
    levels: Vec<i16>,
}

enum Values {
    Text(Vec<ByteArray>),
    /// Whole numbers, and times.
    Integer(Vec<i64>),
    Number(Vec<f64>),
    Boolean(Vec<bool>),
}

impl<R> Sheet<R> {
    pub(super) fn new(file: File, name: &str, columns: Vec<Column<R>>, run: &str) -> Result<Self> {
        let fields = columns.iter().map(|column| field(column).map(Arc::new)).collect::<Result<_>>()?;
        let schema = Type::group_type_builder(name).with_fields(fields).build()?;
        let writer = SerializedFileWriter::new(file, Arc::new(schema), Arc::new(properties(run)?))?;
        let buffers = columns.iter().map(|column| Buffer::new(column.kind())).collect();
        Ok(Self { columns, buffers, bytes: 0, rows: 0, writer })
    }

    pub(super) fn push(&mut self, row: &R) -> Result<()> {
        for (column, buffer) in self.columns.iter().zip(&mut self.buffers) {
            self.bytes += buffer.push(&column.get, row);
        }
        self.rows += 1;
        if self.bytes >= GROUP { self.flush() } else { Ok(()) }
    }

    /// Writes the rows that wait as a group of their own.
    fn flush(&mut self) -> Result<()> {
        if std::mem::take(&mut self.bytes) == 0 {
            return Ok(());
        }
        let mut group = self.writer.next_row_group()?;
        for Buffer { values, levels } in &mut self.buffers {
            let Some(mut column) = group.next_column()? else {
                unreachable!("the schema has a column for each buffer")
            };
            let levels = std::mem::take(levels);
            match values {
                Values::Text(values) => {
                    column.typed::<ByteArrayType>().write_batch(values, Some(&levels), None)?;
                    values.clear();
                }
                Values::Integer(values) => {
                    column.typed::<Int64Type>().write_batch(values, Some(&levels), None)?;
                    values.clear();
                }
                Values::Number(values) => {
                    column.typed::<DoubleType>().write_batch(values, Some(&levels), None)?;
                    values.clear();
                }
                Values::Boolean(values) => {
                    column.typed::<BoolType>().write_batch(values, Some(&levels), None)?;
                    values.clear();
                }
            }
            column.close()?;
        }
        group.close()?;
        Ok(())
    }

    /// Writes what waits, and all that a reader needs to find it.
    pub(super) fn finish(mut self) -> Result<u64> {
        self.flush()?;
        self.writer.close()?;
        Ok(self.rows)
    }
}

impl Buffer {
    fn new(kind: ColumnKind) -> Self {
        let values = match kind {
            ColumnKind::Text => Values::Text(Vec::new()),
            ColumnKind::Integer | ColumnKind::Time => Values::Integer(Vec::new()),
            ColumnKind::Number => Values::Number(Vec::new()),
            ColumnKind::Boolean => Values::Boolean(Vec::new()),
        };
        Self { values, levels: Vec::new() }
    }

    /// Takes in the value of a row, and tells about how much memory it takes.
    fn push<R>(&mut self, get: &Get<R>, row: &R) -> usize {
        let (has_value, bytes) = match (&mut self.values, get) {
            (Values::Text(values), Get::Text(get)) => match get(row) {
                Some(text) => (true, add_text(values, &text)),
                None => (false, 0),
            },
            (Values::Integer(values), Get::Integer(get) | Get::Time(get)) => (add(values, get(row)), 0),
            (Values::Number(values), Get::Number(get)) => (add(values, get(row)), 0),
            (Values::Boolean(values), Get::Boolean(get)) => (add(values, get(row)), 0),
            _ => unreachable!("a buffer is made for its column"),
        };
        self.levels.push(i16::from(has_value));
        bytes + if has_value { VALUE } else { size_of::<i16>() }
    }
}

/// Adds a text. One that repeats that of the row before is kept once.
fn add_text(values: &mut Vec<ByteArray>, text: &str) -> usize {
    match values.last() {
        Some(last) if last.data() == text.as_bytes() => {
            let again = last.clone();
            values.push(again);
            0
        }
        _ => {
            values.push(ByteArray::from(text.as_bytes().to_vec()));
            text.len()
        }
    }
}

fn add<T>(values: &mut Vec<T>, value: Option<T>) -> bool {
    let before = values.len();
    values.extend(value);
    values.len() > before
}

fn field<R>(column: &Column<R>) -> Result<Type> {
    let (physical, logical) = match column.kind() {
        ColumnKind::Text => (PhysicalType::BYTE_ARRAY, Some(LogicalType::String)),
        ColumnKind::Integer => (PhysicalType::INT64, None),
        ColumnKind::Number => (PhysicalType::DOUBLE, None),
        ColumnKind::Boolean => (PhysicalType::BOOLEAN, None),
        // Without a zone: with one, DuckDB in Python gives nothing unless another package is there.
        ColumnKind::Time => (PhysicalType::INT64, Some(LogicalType::timestamp(false, TimeUnit::MICROS))),
    };
    Type::primitive_type_builder(column.name, physical)
        .with_repetition(Repetition::OPTIONAL)
        .with_logical_type(logical)
        .build()
}

fn properties(run: &str) -> Result<WriterProperties> {
    // No two texts of it are the same.
    let json = || ColumnPath::from("json");
    let about = |name: &str, value: String| KeyValue::new(name.to_owned(), value);
    Ok(WriterProperties::builder()
        .set_created_by(format!("{PROGRAM}{}", env!("CARGO_PKG_VERSION")))
        .set_key_value_metadata(Some(vec![
            about("rehearsal.tables", TABLES_VERSION.to_string()),
            about("rehearsal.run", run.to_owned()),
        ]))
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(3)?))
        .set_write_batch_size(STEP)
        .set_column_dictionary_enabled(json(), false)
        .set_column_statistics_enabled(json(), EnabledStatistics::None)
        .build())
}
