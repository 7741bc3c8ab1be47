/**
 * Finds agents (as `id`) whose budget has spent, reserved and given out more than its limit. It is written independently of
 * the code it checks. The company's budget is left out, because usage beyond every limit is charged to it.
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
