create index on contacts (workspace_id, last_seen_at desc, id);
create index on contacts (workspace_id, domain, last_seen_at desc, id);
create index on contacts (workspace_id, status, last_seen_at desc, id) where status <> 'unknown';
create index on contact_words (workspace_id);
select work.index_parts('contact_words', 'words');
