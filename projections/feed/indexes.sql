create index on feed_events (workspace_id, type, position, part);
