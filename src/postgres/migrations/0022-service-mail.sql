-- The service's own mail of the last hour, a row each, so that neither a mailbox nor a workspace gets or causes more of it than is meant, over all
-- instances. `measure`: notices or approvals. Older rows count for nothing and are removed by the service as it goes.
create table work.service_mail (
  attempt_id text primary key,
  measure text not null,
  mailbox_sha256 text not null,
  workspace_id text not null,
  at timestamptz not null
);
create index service_mail_of_mailbox on work.service_mail (measure, mailbox_sha256, at desc);
create index service_mail_of_workspace on work.service_mail (measure, workspace_id, at desc);
create index service_mail_at on work.service_mail (at);

grant select, insert, update, delete on work.service_mail to :service;
