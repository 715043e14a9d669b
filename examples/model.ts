import { rehearsalModel } from 'pawl/testing';

/** The model that MODEL names, such as openai:gpt-5-mini; without it, a rehearsal, which follows a script and needs no key. */
export function model(...script: Extract<Parameters<typeof rehearsalModel>[0], readonly unknown[]>) {
  return process.env.MODEL ?? rehearsalModel(script);
}

/** A rehearsed call of the report tool. */
export const report = (content: unknown) => ({ calls: [{ name: 'final_report', input: { content } }] });
export const call = (name: string, input: unknown = {}) => ({ calls: [{ name, input }] });
