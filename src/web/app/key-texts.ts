/** Each key, under the place where it works. */
export const keyHelp: readonly (readonly [title: string, keys: readonly (readonly [string, string])[]])[] = [
  [
    "Go to",
    [
      ["G H", "Home"],
      ["G M", "Mail"],
      ["G A", "Approvals"],
      ["G O", "Organization"],
      ["G U", "Outcomes"],
      ["G K", "Knowledge"],
      ["G C", "Costs"],
      ["G L", "Activity"],
    ],
  ],
  [
    "Anywhere",
    [
      ["Ctrl K or ⌘K", "Find or do anything"],
      ["/", "Find here"],
      ["M", "Message"],
      ["H", "Hire"],
      ["E", "Explain access"],
      ["Esc", "Back"],
      ["?", "This list"],
    ],
  ],
  [
    "In a list",
    [
      ["J K ↑ ↓", "Move"],
      ["→ ←", "Open or close a row"],
      ["↵", "Open its page"],
      ["Space", "Select a request"],
    ],
  ],
  [
    "A request",
    [
      ["A", "Approve, then ↵"],
      ["R", "Request a revision, then ↵"],
      ["X", "Reject, then ↵"],
      ["C", "Comment, on its page"],
      ["[ ]", "Previous, next"],
    ],
  ],
  [
    "An agent, an outcome",
    [
      ["W", "Why it does or does not move"],
      ["P", "Pause or resume an agent"],
      ["Shift M or .", "Move or reorganize, in the organization"],
    ],
  ],
  [
    "A message, a file, a session",
    [
      ["D", "A message is done; what changed in a file"],
      ["[ ]", "Earlier, later version of a file"],
      ["N", "Next error of a session"],
    ],
  ],
];
export const lettersAct = "Single letters are shortcuts";
