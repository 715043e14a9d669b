/** What the table of slugs says about each. */
export type SlugRow = {
  /** For the documentation. */
  means: string;
  /** The notice's text: the event, then the next step. It says so if the model was not at fault (N-1). */
  happened: string;
  todo: string;
  /** `todo` for an agent that finishes by text, and so has no report tool. */
  todoByText?: string;
  /** Text for people, in a report. */
  person: string;
  /** Recommended human action. */
  advice?: string;
};
