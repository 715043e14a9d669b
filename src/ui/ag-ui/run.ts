/** An event of AG-UI 1.0, as its validators take it. */
export type AgUiEvent = { type: string } & Readonly<Record<string, unknown>>;

/** What a run continues: its thread, and the messages and the state that its client has. */
export type AgUiRun = { threadId: string; runId: string; messages: readonly object[]; state: object };
