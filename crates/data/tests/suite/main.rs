//! Tables as their users see them.

mod files;
mod hostile;
