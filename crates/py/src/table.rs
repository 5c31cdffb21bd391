//! A table for other libraries: the Arrow PyCapsule interface, and plain bytes for numpy.
//!
//! Follows the Arrow C stream interface and its Python protocol, `__arrow_c_stream__`.
//! Differs from pyarrow: there is no data-frame library below, so installing skyhop stays small.
//! Leaves out casts: a requested schema is ignored, which the protocol allows.

use arrow_array::cast::AsArray;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::types::{Float64Type, Int64Type, UInt64Type};
use arrow_array::{Array, RecordBatch, RecordBatchIterator};
use arrow_schema::{DataType, SchemaRef};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyCapsule, PyDict, PyList, PyString};

/// A table, which polars, duckdb, pyarrow and other libraries with `__arrow_c_stream__` can read.
#[pyclass(frozen, module = "skyhop._skyhop")]
pub struct Table {
    schema: SchemaRef,
    batches: Vec<RecordBatch>,
}

impl Table {
    pub fn new(schema: SchemaRef, batches: Vec<RecordBatch>) -> Self {
        Table { schema, batches }
    }
}

#[pymethods]
impl Table {
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema;
        // A batch is a few reference counts, so each consumer gets its own stream.
        let batches: Vec<_> = self.batches.iter().cloned().map(Ok).collect();
        let reader = RecordBatchIterator::new(batches, self.schema.clone());
        let stream = FFI_ArrowArrayStream::new(Box::new(reader));
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }

    fn __len__(&self) -> usize {
        self.batches.iter().map(RecordBatch::num_rows).sum()
    }

    /// The table as the bytes of a file, for pickling.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = skyhop_sweep::table_bytes(&self.schema, &self.batches).map_err(PyValueError::new_err)?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// The table from bytes of `to_bytes`.
    #[staticmethod]
    fn from_bytes(data: Vec<u8>) -> PyResult<Self> {
        let (schema, batches) = skyhop_sweep::table_of(data).map_err(PyValueError::new_err)?;
        Ok(Table { schema, batches })
    }

    /// Names of the columns.
    #[getter]
    fn columns(&self) -> Vec<String> {
        self.schema.fields().iter().map(|f| f.name().clone()).collect()
    }

    /// Each column as a list of texts, or as a numpy type code and the bytes of its values. If values are missing, integers
    /// become floats and missing ones NaN.
    fn buffers<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let out = PyDict::new(py);
        for (index, field) in self.schema.fields().iter().enumerate() {
            let arrays = || self.batches.iter().map(move |b| b.column(index));
            let missing = arrays().any(|a| a.null_count() > 0);
            let (code, bytes) = match field.data_type() {
                DataType::Utf8 => {
                    out.set_item(field.name(), texts(py, arrays())?)?;
                    continue;
                }
                DataType::Int64 if !missing => (
                    "<i8",
                    bytes(arrays().flat_map(|a| {
                        a.as_primitive::<Int64Type>().values().iter().map(|v| v.to_le_bytes())
                    })),
                ),
                DataType::UInt64 if !missing => (
                    "<u8",
                    bytes(arrays().flat_map(|a| {
                        a.as_primitive::<UInt64Type>().values().iter().map(|v| v.to_le_bytes())
                    })),
                ),
                DataType::Int64 => (
                    "<f8",
                    bytes(arrays().flat_map(|a| {
                        a.as_primitive::<Int64Type>().iter().map(|v| real(v.map(|v| v as f64)))
                    })),
                ),
                _ => ("<f8", bytes(arrays().flat_map(|a| a.as_primitive::<Float64Type>().iter().map(real)))),
            };
            out.set_item(field.name(), (code, PyBytes::new(py, &bytes)))?;
        }
        Ok(out)
    }
}

fn bytes(values: impl Iterator<Item = [u8; 8]>) -> Vec<u8> {
    values.flatten().collect()
}

fn real(value: Option<f64>) -> [u8; 8] {
    value.unwrap_or(f64::NAN).to_le_bytes()
}

/// Successive rows mostly have the same name, so they share the Python text.
fn texts<'a, 'py>(
    py: Python<'py>,
    arrays: impl Iterator<Item = &'a arrow_array::ArrayRef>,
) -> PyResult<Bound<'py, PyList>> {
    let list = PyList::empty(py);
    let mut last: Option<(&str, Bound<'py, PyString>)> = None;
    for array in arrays {
        for text in array.as_string::<i32>().iter().map(Option::unwrap_or_default) {
            let shared = match last.take() {
                Some((same, object)) if same == text => object,
                _ => PyString::new(py, text),
            };
            list.append(&shared)?;
            last = Some((text, shared));
        }
    }
    Ok(list)
}
