create unique index on audit_entries (workspace_id, position);
