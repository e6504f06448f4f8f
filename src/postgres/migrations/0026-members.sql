-- The workspaces of a person: found before it is known which one they want to see.
create function work.workspaces_of_user(of_user uuid)
returns table (id uuid, name text, role text, member_id uuid)
language plpgsql security definer set search_path = read, pg_temp as $$
declare
  carried text := coalesce(current_setting('countersign.workspace', true), '');
begin
  perform set_config('countersign.workspace', '*', true);
  return query select w.id, w.name, m.role, m.id
    from members m join workspaces w on w.id = m.workspace_id
    where m.user_id = of_user and m.status = 'active';
  perform set_config('countersign.workspace', carried, true);
end $$;

revoke all on function work.workspaces_of_user from public;
grant execute on function work.workspaces_of_user to :service;
