//! From the core's error to the exceptions of `tickless.errors`, which are plain Python classes so
//! that they pickle and carry attributes.

use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::import_exception;
use pyo3::prelude::*;

use crate::error::Error;

import_exception!(tickless.errors, UnknownNameError);
import_exception!(tickless.errors, InvalidParameterError);
import_exception!(tickless.errors, InvalidTypeError);
import_exception!(tickless.errors, ShapeError);
import_exception!(tickless.errors, InputError);
import_exception!(tickless.errors, MissingFileError);

impl From<Error> for PyErr {
    fn from(e: Error) -> Self {
        let text = e.to_string();
        match e {
            Error::UnknownName { .. } => UnknownNameError::new_err(text),
            Error::InvalidParameter { .. } => InvalidParameterError::new_err(text),
            Error::Shape { .. } => ShapeError::new_err(text),
            Error::Input(i) if i.code == "not-found" => {
                MissingFileError::new_err((text, i.path, i.line, i.code))
            }
            Error::Input(i) => InputError::new_err((text, i.path, i.line, i.code)),
            Error::Interrupted => PyKeyboardInterrupt::new_err(()),
        }
    }
}

/// The error for an argument of the wrong type or dtype: an `InvalidParameterError` that is also a `TypeError`.
pub fn wrong_type(name: &str, expected: &str, found: &str) -> PyErr {
    InvalidTypeError::new_err(format!("{name}: expected {expected}, found {found}"))
}
