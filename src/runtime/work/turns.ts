/**
 * Fairness between workspaces (start-time fair queueing): a lane that becomes ready gets the turn after its workspace's last one, or after
 * the last claimed one if that is later. So the only lane of a workspace is next, even if another workspace has ten thousand.
 *
 * SQL of a common table expression `turns (process, key, turn)`, over one named `woken (process, key, workspace)`.
 */
export const assignTurnsSql = `
  counted as (
    select process, key, workspace, row_number() over (partition by process, workspace order by key) as place from woken
  ),
  bases as (
    select process, workspace, count(*) as count, coalesce((
      select max(turn) from work.turns past where past.process = counted.process and past.workspace in (counted.workspace, '*')
    ), 0) as base
    from counted group by process, workspace
  ),
  turns as (
    select counted.process, counted.key, bases.base + counted.place as turn from counted join bases using (process, workspace)
  )`;

/**
 * SQL that stores the assigned turns, after all rows of the expression `lanes`. Lanes are locked before turns everywhere, so that
 * statements cannot deadlock; PostgreSQL guarantees no order between expressions that do not read one another.
 */
export const storeTurnsSql = `
  stored as (
    insert into work.turns as turns (process, workspace, turn)
    select process, workspace, base + count from bases where (select count(*) from lanes) >= 0 order by process, workspace
    on conflict (process, workspace) do update set turn = greatest(turns.turn, excluded.turn)
  )`;
