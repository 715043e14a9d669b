/** Scenarios of the MCP conformance suite that do not apply to Pawl, with the reason; `scenario:check` for one check. */
type Reasons = readonly (readonly [pattern: RegExp, reason: string])[];

const oneTool = 'an agent is one tool, which takes a task; the suite asks for tools of its own';
const noMore = 'an agent is served without resources, prompts, completions and log levels';
const ownGrant = 'an extension with a grant of its own, for which a provider of the SDK can be given (`auth`)';

export const ofServer: Reasons = [
  [/^tools-call-/, oneTool],
  [/^elicitation-/, oneTool],
  [/^input-required-result-non-tool-request/, noMore],
  [/^input-required-result-/, oneTool],
  [/^json-schema-2020-12/, oneTool],
  [/^http-custom-header-server-validation/, oneTool],
  [/^http-header-validation:sep-2243-server-accepts-whitespace-header-value/, oneTool],
  [/^server-stateless:sep-2575-server-rejects-undeclared-capability/, oneTool],
  [/^server-stateless:sep-2575-missing-capability-http-400/, oneTool],
  [/^server-stateless:sep-2575-http-server-no-independent-requests-on-stream/, oneTool],
  [/^server-stateless:sep-2575-server-no-log-without-loglevel/, oneTool],
  [/^(resources|prompts)-/, noMore],
  [/^(completion-complete|logging-set-level)/, noMore],
  [/^caching:sep-2549-(prompts|resources)/, noMore],
  [/^tasks-lifecycle:sep-2663-tasks-get-status-failed/, 'a session that fails has a report, so its task is completed'],
  [/^tasks-required-task-error/, 'a call of an agent can always be waited for'],
  [/^tasks-mrtr-composition/, 'a task asks its own questions, and none before it begins'],
];

export const ofClient: Reasons = [
  [/^auth\/(client-credentials|enterprise|dpop|wif)/, ownGrant],
  [
    /^json-schema-2020-12-preservation/,
    'it asks for a tool that echoes a schema, which a session has no reason to call',
  ],
];

/** Returns why a check does not apply; undefined if it does. */
export function whyNot(reasons: Reasons, scenario: string, check: string): string | undefined {
  return reasons.find(([pattern]) => pattern.test(`${scenario}:${check}`))?.[1];
}
