create table rule_runs (
  id uuid primary key,
  workspace_id uuid not null,
  trigger_event text not null,
  trigger_event_id uuid not null,
  identity_id uuid not null,
  thread_id uuid not null,
  message_id uuid,
  draft_id uuid,
  -- Finds the consequences of a run: a chain of rules must end.
  correlation_id text not null,
  evaluated_at timestamptz not null
);
create index on rule_runs (correlation_id);
-- Finds the oldest runs, which are removed first.
create index on rule_runs (evaluated_at);
create table rule_evaluations (
  run_id uuid not null,
  rule_id uuid not null,
  workspace_id uuid not null,
  rule_version int not null,
  matched boolean not null,
  actions json not null,
  evaluated_at timestamptz not null,
  primary key (run_id, rule_id)
);
create index on rule_evaluations (rule_id, evaluated_at desc, run_id);
create index on rule_evaluations (rule_id, evaluated_at desc, run_id) where matched;
create table rule_evaluation_counts (
  workspace_id uuid not null,
  rule_id uuid not null,
  matched boolean not null,
  count int not null,
  primary key (workspace_id, rule_id, matched)
);
