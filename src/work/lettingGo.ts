import { newlyClaimedUntil } from "./lanes.ts";
import { storingTurnsAndClaims, turnsOfWoken } from "./turns.ts";

/**
 * How claims end: a lane with nothing to do is gone, one with items that are due is ready, any other waits, for its next item or to be tried
 * again. Over a common table expression `ended (process, key, workspace, due_at, retry_at)` of locked lanes; $2 is now.
 *
 * `holder`, a parameter that may be null: who goes on with those that are due at once, under a new claim (`kept`), where no other lane of the
 * process is ready. None of the others would have its turn sooner for being asked.
 */
export const lettingGo = (holder: string): string => `
  gone as (
    delete from work.lanes lane using ended
    where lane.process = ended.process and lane.key = ended.key and ended.due_at is null
  ),
  waiting as (
    update work.lanes lane set state = 'waiting', claim = null, holder = null, claimed_until = null,
      retry_at = ended.retry_at, due_at = greatest(ended.due_at, ended.retry_at)
    from ended where lane.process = ended.process and lane.key = ended.key
      and (ended.due_at > $2 or (ended.due_at is not null and ended.retry_at is not null))
  ),
  woken as (
    select process, key, workspace from ended where due_at <= $2 and retry_at is null
  ),
  ${turnsOfWoken},
  uncrowded as (
    select process from (select distinct process from woken) as process_of_woken
    where ${holder}::text is not null and not exists (
      select from work.lanes other where other.process = process_of_woken.process and other.state = 'ready'
    )
  ),
  lanes as (
    update work.lanes lane set turn = turns.turn,
      state = case when kept then 'claimed' else 'ready' end,
      claim = case when kept then gen_random_uuid() end,
      holder = case when kept then ${holder}::text end,
      claimed_until = case when kept then ${newlyClaimedUntil} end
    from (select turns.*, process in (select process from uncrowded) as kept from turns) turns
    where lane.process = turns.process and lane.key = turns.key
    returning lane.process, lane.key, lane.workspace, lane.turn, lane.state, lane.claim, lane.generation
  ),
  ${storingTurnsAndClaims("state = 'claimed'")}`;
