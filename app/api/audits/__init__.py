"""Audits and certificates over HTTP."""
