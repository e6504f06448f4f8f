create index on drafts (workspace_id, created_at desc, id);
create index on drafts (workspace_id, status, created_at desc, id);
create index on drafts (workspace_id, identity_id, created_at desc, id);
create index on drafts (identity_id, status);
create index on drafts (id) where status = 'sending';
create index on drafts (pending_since) where status = 'pending';
-- Drafts that wait for a decision, read from the index alone.
create index on drafts (workspace_id, identity_id) include (id, thread_id, pending_since, escalated)
  where status = 'pending' and coalesce(changes_requested->>'state' <> 'open', true);
create index on drafts (workspace_id, changed_position desc);
create index on drafts (workspace_id, notification_at, id) where status = 'pending' and notification_state = 'expired';
-- Drafts with warnings, for lists filtered by one of those.
create index on drafts (workspace_id, created_at desc, id) where version_warnings <> '{}';
create unique index on draft_versions (draft_id, version);
create index on approval_requests (workspace_id, address, since, draft_id) where open;
