"""Begin, check and read audits of a job."""
