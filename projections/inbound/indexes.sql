create index on inbound (workspace_id, position desc);
create index on inbound (identity_id, position desc);
create index on inbound (workspace_id, disposition, position desc) where disposition <> 'threaded';
create index on inbound (workspace_id, identity_id) 
  where disposition in ('held_over_quota', 'held_identity_disabled') and expired_after_days is null;
create index on inbound (identity_id, filing_number) where disposition = 'quarantined' and expired_after_days is null;
create index on inbound (message_id) where disposition = 'duplicate';
create index on inbound (workspace_id, received_at desc, position desc) where put_aside is not null;
create index on inbound (workspace_id, received_at desc, position desc) where put_aside = 'hand_over';
create index on inbound (message_id) where expired_after_days is not null;
-- The rows that work.unanswered_mail sums up, read from the index alone.
create index on inbound (workspace_id) include (size_bytes)
  where not answered and expired_after_days is null and disposition not in ('approval_reply', 'unknown_recipient');
