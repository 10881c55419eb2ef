//! NDP.
