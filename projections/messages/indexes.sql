create index on messages (thread_id, filing_number) where filing_number is not null;
