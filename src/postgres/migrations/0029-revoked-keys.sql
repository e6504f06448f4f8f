-- Whether a key with this hash was live once and is no more: who holds it is told so, however often they ask. As api_key_by_hash, found before
-- it is known whose it is.

create function work.is_revoked_key(key_hash text) returns boolean
language plpgsql security definer set search_path = read, pg_temp as $$
declare
  carried text := coalesce(current_setting('countersign.workspace', true), '');
  found_one boolean;
begin
  perform set_config('countersign.workspace', '*', true);
  found_one := exists (select 1 from api_keys k where k.hash = key_hash and k.revoked_at is not null);
  perform set_config('countersign.workspace', carried, true);
  return found_one;
end $$;

revoke all on function work.is_revoked_key from public;
grant execute on function work.is_revoked_key to :service;
