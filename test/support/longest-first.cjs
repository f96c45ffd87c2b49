const Sequencer = require('@jest/test-sequencer').default;

/** What takes a minute or more: begun last, it would keep one worker busy after all others are done. */
const LONG = [
  /differential-windows/,
  /differential-buckets/,
  /random-faults/,
  /package\.spec/,
  /hangs/,
];

/** On a machine that has run nothing yet Jest only knows how large files are. */
module.exports = class LongestFirst extends Sequencer {
  sort(tests) {
    const rank = ({ path }) => {
      const place = LONG.findIndex((name) => name.test(path));
      return place === -1 ? LONG.length : place;
    };
    // oxlint-disable-next-line unicorn/no-array-sort -- the sequencer's own
    return super.sort(tests).toSorted((a, b) => rank(a) - rank(b));
  }
};
