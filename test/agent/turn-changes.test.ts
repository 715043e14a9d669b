import { describe, expect, it } from 'vitest';
import { type Choice, checkedChanges } from '../../src/agent/turn-changes.ts';
import { PawlError } from '../../src/index.ts';

const choice: Choice = {
  tools: new Set(['search', 'final_report']),
  targets: new Map([
    ['test:one', 0],
    ['test:two', 1],
  ]),
  window: { windowTokens: 1_000, reserveTokens: 250 },
};
const nothing = {
  ...{ tools: null, offersThese: false, toolChoice: null, targets: null, instructions: null, settings: null },
};

/** Returns the message of the error for what `prepareTurn` returned. */
function problemOf(returned: unknown, among: Choice = choice): string {
  try {
    checkedChanges(returned, among);
  } catch (error) {
    if (error instanceof PawlError && error.code === 'invalid_options') return error.message;
    throw error;
  }
  return 'accepted';
}

describe('T-7: what a turn may do differently', () => {
  it('is nothing, or what the session has', () => {
    for (const none of [undefined, null, {}]) expect(checkedChanges(none, choice)).toEqual(nothing);
    expect(
      checkedChanges(
        {
          activeTools: ['search'],
          instructions: 'Look.',
          models: ['test:two', 'test:one'],
          settings: { temperature: 0, maxOutputTokens: 250, seed: undefined },
        },
        choice,
      ),
    ).toEqual({
      ...nothing,
      tools: ['search'],
      targets: [1, 0],
      instructions: 'Look.',
      settings: { temperature: 0, maxOutputTokens: 250 },
    });
    expect(checkedChanges({ activeTools: [], instructions: '' }, choice)).toEqual({
      ...nothing,
      tools: [],
      instructions: '',
    });
  });

  it('may not name a tool or a model that the session lacks', () => {
    expect(problemOf({ activeTools: ['search', 'delete'] })).toBe(
      '`activeTools[1]` must be one of the tools of this turn (search, final_report); got "delete".',
    );
    expect(problemOf({ models: ['test:one', 'test:three'] })).toBe(
      '`models[1]` must be one of the models of this turn (test:one, test:two); got "test:three".',
    );
    expect(problemOf({ activeTools: ['delete'] }, { ...choice, tools: new Set() })).toContain('(none)');
  });

  it('B-5b: may say which call is made, of those that it permits', () => {
    const chosen = (toolChoice: unknown, over = {}) => checkedChanges({ toolChoice, ...over }, choice).toolChoice;
    expect(chosen('auto')).toBeNull();
    expect(chosen('required')).toBe('required');
    expect(chosen('required', { activeTools: [] })).toBeNull();
    expect(chosen({ tool: 'search' })).toEqual({ tool: 'search' });
    expect(chosen({ tool: 'final_report' }, { activeTools: [] })).toEqual({ tool: 'final_report' });
    expect(problemOf({ toolChoice: { tool: 'search' }, activeTools: [] })).toBe(
      '`toolChoice.tool` must be one of the tools of this turn (final_report); got "search".',
    );
    expect(problemOf({ toolChoice: 'none' })).toBe(
      "`toolChoice` must be 'auto', 'required' or { tool }; got \"none\".",
    );
  });

  it('leaves the room that the context guard keeps free', () => {
    expect(problemOf({ settings: { maxOutputTokens: 251 } })).toBe(
      '`settings.maxOutputTokens` must be at most 250, which the context guard keeps free for the reply; got 251.',
    );
    const unknown = { ...choice, window: { windowTokens: null, reserveTokens: 0 } };
    expect(checkedChanges({ settings: { maxOutputTokens: 251 } }, unknown).settings).toEqual({ maxOutputTokens: 251 });
    expect(checkedChanges({ settings: { temperature: 1 } }, choice).settings).toEqual({ temperature: 1 });
  });

  it.each([
    ['search', '`value` must be an object; got "search".'],
    [{ activeTools: 'search' }, '`activeTools` must be an array of tool names; got "search".'],
    [{ activeTools: [' '] }, '`activeTools[0]` must be a string that is not blank; got " ".'],
    [{ models: [] }, '`models` must be at least one target; got [].'],
    [{ models: 'test:one' }, '`models` must be an array of target names; got "test:one".'],
    [{ instructions: 7 }, '`instructions` must be a string; got 7.'],
    [{ settings: { headers: {} } }, 'Unknown option `settings.headers`.'],
    [{ settings: { temperature: 'hot' } }, '`settings.temperature` must be a number; got "hot".'],
    [{ tools: [] }, 'Unknown option `tools`.'],
  ])('%j is refused', (returned, message) => {
    expect(problemOf(returned)).toContain(message);
  });
});
