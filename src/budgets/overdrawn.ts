/**
 * For whoever checks the rows, and written without what the program uses: agents (as `id`) whose budget has spent, set
 * aside and handed down more than it is. The company's is not looked at: what a session used beyond every limit is on its
 * account.
 */
export const overdrawn = `with recursive under(measure, amount, boss_id) as (
    select b.measure, b.amount, a.boss_id from budgets b join agents a on a.id = b.agent_id
    union all select u.measure, u.amount, a.boss_id from under u join agents a on a.id = u.boss_id
      where not exists (select 1 from budgets x where x.agent_id = u.boss_id and x.measure = u.measure))
  select b.agent_id as id from budgets b where b.amount <
    coalesce((select c.amount from charges c where c.pool_id = b.agent_id and c.measure = b.measure
      and c.month = (select max(month) from charges)), 0)
    + coalesce((select sum(r.amount) from reservations r where r.pool_id = b.agent_id and r.measure = b.measure), 0)
    + coalesce((select sum(u.amount) from under u where u.boss_id = b.agent_id and u.measure = b.measure), 0)`;
