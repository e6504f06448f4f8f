-- Returns the bytes of unanswered mail of each workspace, that is, storage filled by strangers. The receiver reads all workspaces at once.
create function work.unanswered_mail() returns table (workspace_id uuid, bytes bigint)
language plpgsql security definer set search_path = read, pg_temp as $$
declare
  carried text := coalesce(current_setting('countersign.workspace', true), '');
begin
  perform set_config('countersign.workspace', '*', true);
  return query select i.workspace_id, sum(i.size_bytes)::bigint from inbound i
    where not i.answered and i.expired_after_days is null and i.disposition not in ('approval_reply', 'unknown_recipient')
    group by i.workspace_id;
  perform set_config('countersign.workspace', carried, true);
end $$;

revoke all on function work.unanswered_mail from public;
grant execute on function work.unanswered_mail to :service;
