/** Texts of Mail. */
export const boxWords = { waiting: "Waiting", all: "All", sent: "Sent", deferred: "Deferred" } as const;
export const emptyBox = {
  waiting: "No messages wait.",
  all: "No messages yet.",
  sent: "You sent no messages yet.",
  deferred: "No message is scheduled.",
} as const;
export const emptyBoxHint = "Choose an agent below and write. An answer arrives here.";
export const notWrittenYet = (name: string): string => `You and ${name} have not written to each other yet.`;
export const writeBelow = "Write below. The answer arrives here.";
export const chooseConversation = "Choose a conversation, or write to an agent.";
export const youAnswer = "You answer";
export const writeNew = "Write a new message instead";
export const openOutcome = "Open the outcome";
export const longMessage = "A long message";
export const systemName = "Agency";
export const boardName = "Board";
export const sentTo = (name: string): string => `Sent to ${name}.`;
export const scheduledFor = (name: string): string => `The message to ${name} is scheduled.`;
