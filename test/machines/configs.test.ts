import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { drawings } from '../graph/drawing.ts';

it.each(drawings())('D-1: the configuration of the $name machine is the one in visualizations/', ({ name, config }) => {
  expect(JSON.parse(readFileSync(`visualizations/${name}.json`, 'utf8'))).toEqual(config);
});
