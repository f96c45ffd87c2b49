const { statSync } = require('node:fs');
const Sequencer = require('@jest/test-sequencer').default;

/** What takes a minute or more: begun last, it would keep one worker busy after all others are done. */
const LONG = [
  /differential-windows/,
  /differential-buckets/,
  /random-faults/,
  /package\.spec/,
  /hangs/,
];

/** Those first, then the largest files, as Jest does on a machine that has run nothing yet. */
module.exports = class LongestFirst extends Sequencer {
  sort(tests) {
    const rank = ({ path }) => {
      const place = LONG.findIndex((name) => name.test(path));
      return place === -1 ? LONG.length : place;
    };
    const size = ({ path }) => statSync(path).size;
    return tests.toSorted((a, b) => rank(a) - rank(b) || size(b) - size(a));
  }
};
