/** Texts of the page for hiring. */
export const boardDecides = "The board decides about the hire before the agent can start.";
export const startsAtOnce = "The agent can start immediately.";
export const newAgent = "a new agent";
export const pendingTitle = "Pending board approval";
export const pendingSays = (name: string): string =>
  `${name} starts to work once the board approves the request.`;
export const readyTitle = (name: string): string => `${name} is ready`;
export const readySays = (name: string, boss: string): string =>
  `${name} reports to ${boss} and can work immediately.`;
export const managerLeft = (boss: string, left: string): string =>
  `${boss} has ${left} left this month. The budget is taken from this amount.`;
export const keeps = (boss: string, rest: string, left: string): string =>
  `${boss} keeps ${rest} of the ${left} that it has left this month.`;
export const tooMuch = (boss: string, left: string): string => `${boss} has only ${left} left this month.`;
export const noBudget = (boss: string): string =>
  `${boss} has no separate budget and shares the budget above. Leave this empty to share that budget too.`;
export const noRights = (boss: string): string => `${boss} holds no rights that can be passed on.`;
export const onlyHeld = (boss: string): string =>
  `Only rights that ${boss} holds can be passed on. More can be granted later.`;
export const managerLacks = (boss: string): string => `${boss} does not hold this right.`;
export const copyTitle = (name: string): string => `Copy from ${name}`;
