create table members (
  id uuid primary key,
  workspace_id uuid not null,
  -- Null until the invitation is accepted.
  user_id uuid,
  -- The user's current address and name; for an invitation the address it was sent to.
  email text not null,
  name text,
  role text not null,
  status text not null,
  invited_by json,
  created_at timestamptz not null,
  expires_at timestamptz
);
create index on members (workspace_id, created_at, id);
create index on members (user_id);

-- Names of members. A user belongs to no workspace: the column stays null, so that the policy of row level security hides users from all.
create table member_users (
  id uuid primary key,
  workspace_id uuid,
  email text not null,
  name text
);
