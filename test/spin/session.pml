/*
 * The bound and the grants, written for SPIN from docs/specification.md alone: a second opinion on B-2, B-3, B-4, B-5, B-7,
 * D-2 and on "a session ends, if its effects settle". What models, tools and callers do is left open: each may do
 * anything at any time, but a request, once sent, is answered, fails or times out.
 */
#ifndef TURNS
#define TURNS 3
#endif
#ifndef RETRIES
#define RETRIES 2
#endif
/* All requests of the session and its sub-agents. */
#ifndef TREE
#define TREE 7
#endif
/* The most that one sub-agent may ask for: its own bound. */
#define CHILD 2

byte maxTurns = TURNS;
byte turn = 0;
byte requests = 0;      /* of the session itself */
byte sentByTree = 0;    /* of all, as a provider would count them */
byte spent = 0;         /* of the tree, as the session accounts for it */
byte reserved = 0;      /* what running sub-agents were granted */
byte running = 0;       /* sub-agents that run */
bool aborted = false;
bool ended = false;
bool workedLast = false; /* a tool other than the report was executed on the last turn (B-5) */

#define left (TREE - spent - reserved)

/* B-4: it only ever shrinks. */
inline collapse() {
  if
  :: turn + 1 < maxTurns -> maxTurns = turn + 1
  :: else -> skip
  fi
}

/* A sub-agent: it sends at most what it was granted, and gives the rest back. */
proctype Child(byte grant) {
  byte sent = 0;
  do
  :: sent < grant && !aborted -> atomic { sent++; sentByTree++ }
  :: break
  od;
  atomic { reserved = reserved - grant; spent = spent + sent; running-- }
}

/* Calls of one reply that start sub-agents: each gets a share of what is left but for one request, the report's. */
inline delegate() {
  byte shares;
  byte share;
  if
  :: left > 1 ->
    select(shares : 1 .. 2);
    do
    :: shares > 0 && left > 1 ->
      atomic {
        share = (left - 1) / shares;
        if
        :: share > CHILD -> share = CHILD
        :: share == 0 -> share = 1
        :: else -> skip
        fi;
        reserved = reserved + share;
        running++;
        run Child(share)
      };
      shares--
    :: else -> break
    od;
    /* Every call is answered before the turn continues (C-1). */
    running == 0
  :: else -> skip
  fi
}

active proctype Session() {
  byte attempt;
  bool isLast;
  bool reportOnly;
advancing:
  if
  :: aborted -> goto over
  :: !aborted && (turn >= maxTurns || left == 0) -> goto over
  :: else -> skip
  fi;
  if
  :: left == 1 -> collapse()
  :: else -> skip
  fi;
  atomic { turn++; isLast = (turn >= maxTurns); attempt = 0 };
choosing:
  if
  :: aborted -> goto over
  :: !aborted && (attempt >= RETRIES || left == 0) -> goto over
  :: else -> skip
  fi;
  reportOnly = isLast || left == 1;
  /* B-6: counted before it is sent. */
  atomic { attempt++; requests++; spent++; sentByTree++ };
  if
  :: goto over                                /* a report was accepted */
  :: goto choosing                            /* a fault, or no progress */
  :: collapse(); goto choosing                /* a report was refused, or no room is left */
  :: !reportOnly -> workedLast = workedLast || isLast; goto advancing   /* a tool ran */
  :: !reportOnly -> delegate(); goto advancing
  fi;
over:
  running == 0;
  ended = true
}

active proctype Caller() {
  if
  :: atomic { collapse() }                    /* a stop */
  :: aborted = true
  :: skip
  fi
}

ltl bound { [] (requests <= TURNS * RETRIES) }
ltl turns { [] (turn <= TURNS && maxTurns <= TURNS) }
ltl last { [] !workedLast }
ltl tree { [] (sentByTree <= TREE) }
ltl accounts { [] (ended -> (spent == sentByTree && reserved == 0)) }
ltl ends { <> ended }
