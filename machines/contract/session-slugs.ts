import type { SlugRow } from './slug-row.ts';

/** The last rows of the table of slugs: what befalls a session without its model's doing. */
export const sessionRows = {
  suspended: {
    means: 'The session was suspended before its end; it can be resumed from its journal.',
    happened: 'the session was suspended',
    todo: 'Resume it from its journal.',
    person: 'the session was suspended',
    advice: 'Resume it from its journal.',
  },
  journal_failed: {
    means: 'The journal could not be written, so the session stopped; it can be resumed from there.',
    happened: 'the journal of the session could not be written',
    todo: 'See to its journal, and resume it.',
    person: 'the journal of the session could not be written',
    advice: 'See to the journal, such as a full disk, and resume the session.',
  },
  tools_unavailable: {
    means: 'The tools could not be opened.',
    happened: 'the tools could not be opened',
    todo: 'Check that the tool servers can be started and reached.',
    person: 'the tools could not be opened',
    advice: 'Check that the tool servers can be started and reached.',
  },
  input_denied: {
    means: '`checkInput` of the agent denied the input. Nothing was sent.',
    happened: 'the input was refused by a check of the application',
    todo: 'Ask for something that the check allows.',
    person: 'a check of the application refused the input',
    advice: 'The reason is named above; no request was sent.',
  },
  turn_not_prepared: {
    means:
      'The next turn could not be prepared: `instructions` or `prepareTurn` failed or timed out, `prepareTurn` named something that the session lacks, or an agent of `handoffs` could not take over.',
    happened: 'the next turn could not be prepared',
    todo: 'Check `instructions` and `prepareTurn`.',
    person: 'the next turn could not be prepared',
    advice: 'Fix what is named above: `instructions` or `prepareTurn`, or those of an agent in `handoffs`.',
  },
  internal_error: {
    means: 'A defect of Pawl, or of code it was given.',
    happened: 'your reply could not be processed, because of an internal error; this was not your fault',
    todo: 'Reply again.',
    person: 'there was an internal error',
    advice: 'This is a defect: the log holds the details.',
  },
} satisfies Record<string, SlugRow>;
