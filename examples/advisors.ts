/** Three advisors look at a question in parallel, each in its own session; their reports go into the first prompt. */
import { defineAgent, runSession, sharedBudget } from 'pawl';
import { model, report } from './model.ts';

const advisor = (name: string, instructions: string, says: string) =>
  defineAgent({ name, instructions, models: [model(report(says))] });
const advisors = [
  advisor('lawyer', 'Name the legal risks.', 'Our licence forbids it.'),
  advisor('engineer', 'Name the technical risks.', 'It breaks the build on Windows.'),
  advisor('accountant', 'Name the costs.', 'It costs 300 a month.'),
];
const decider = defineAgent({
  name: 'decider',
  instructions: 'Decide. Weigh what your advisors say.',
  models: [model(report('Do not switch: the licence forbids it.'))],
});

const prompt = 'Shall we switch to another bundler?';
// One budget for all of them together.
const budget = { sharedBudget: sharedBudget({ requests: 20 }), logger: false as const };
const advice = await Promise.all(advisors.map((one) => runSession(one, { prompt, ...budget })));
for (const { agent, success, counters } of advice)
  console.log(agent, success ? 'advised' : 'failed', counters.requests);

// An advisor that failed says nothing, rather than something wrong.
const said = advice.filter(({ success }) => success).map(({ agent, report }) => `The ${agent}: ${report.content}`);
const { report: decision } = await runSession(decider, { prompt: [prompt, ...said].join('\n\n'), ...budget });
console.log(decision.content, (await budget.sharedBudget.spent()).requests);
// lawyer advised 1
// engineer advised 1
// accountant advised 1
// Do not switch: the licence forbids it. 4
