/** A session of Pawl: `node pawl.js URL TURNS`. */
import { defineAgent, runSession } from 'pawl';
import { echo, model, turns } from './given.ts';
import { spent } from './spent.ts';

const agent = defineAgent({ name: 'bench', models: [model], tools: { echo }, limits: { maxTurns: turns } });
const { counters } = await runSession(agent, { prompt: 'go', logger: false });
spent(counters.turns, turns);
