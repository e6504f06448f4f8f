-- One row for each event of a workspace, in the order of the log. Events of no workspace are the entries of the nil UUID.
create table audit_entries (
  workspace_id uuid not null,
  entry bigint not null,
  position bigint not null,
  stream text not null,
  revision int not null,
  hash bytea not null,
  primary key (workspace_id, entry)
);

-- Hashes of complete subtrees of 256, 65,536, … entries (levels 8, 16, …). Between them, hashes are computed.
create table audit_subtrees (
  workspace_id uuid not null,
  level int not null,
  number bigint not null,
  hash bytea not null,
  primary key (workspace_id, level, number)
);

create table audit_trees (
  workspace_id uuid primary key,
  size bigint not null,
  position bigint not null
);
