import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { drawings } from '../../scripts/draw/model.ts';

it.each(drawings())(
  'the configuration of the $name machine is the one that is drawn (npm run draw)',
  ({ name, config }) => {
    expect(config).toEqual(JSON.parse(readFileSync(`visualizations/${name}.json`, 'utf8')));
  },
);
