  // One frame is followed by its first cell: its outputs give it back, each once, and only then its cells are free.
  logic past;
  initial past = 1'b0;
  always_ff @(posedge clk) past <= 1'b1;
  always_comb if (!past) assume (rst);

  logic [H-1:0] which;
  logic is_shared, has_body;     // what the frame is
  logic [2:0] outside, outputs;  // outputs that still hold it; how many there were
  logic here, comes;
  logic [SOURCES-1:0] asks;
  always_ff @(posedge clk) begin
    which <= which;
    is_shared <= is_shared;
    has_body <= has_body;
    if (rst) outside <= outputs;
    else outside <= outside - 3'(comes);
  end
  always_comb begin
    outputs = is_shared ? 3'(COPIES) : 3'd1;
    for (int s = 0; s < SOURCES; s++) asks[s] = in_valid[s] && in[s].head[H-1:0] == which;
    comes = (grant & asks) != 0;
    here = now_valid && now.head[H-1:0] == which;
    for (int s = 0; s < SOURCES; s++) begin
      assume (int'(in[s].head) < HEADS);
      // The frame is what it is at every output; none gives it back a second time.
      if (asks[s]) assume (in[s].has_head && in[s].shared == is_shared && in[s].has_body == has_body);
      if (asks[s]) assume (outside != 0);
    end
  end
  // Times that its cells came free.
  logic [2:0] freed, body_freed;
  always_ff @(posedge clk) begin
    if (rst) freed <= '0;
    else if (head_valid && head[H-1:0] == which) freed <= freed + 1'b1;
    if (rst) body_freed <= '0;
    else if (body_valid && head[H-1:0] == which) body_freed <= body_freed + 1'b1;
  end
  logic leaves;
  assign leaves = head_valid && head[H-1:0] == which;
  always_ff @(posedge clk) if (past && !rst) begin
    clears_first: if (!clearing[H]) assert (grant == 0 && !now_valid && freed == 0 && outside == outputs);
    one_each_cycle: assert ((grant & (grant - 1'b1)) == 0 && (grant & ~in_valid) == 0);
    cleared: if (!clearing[H] && which < clearing[H-1:0]) assert (returned[which] == 0);
    copies_are_counted: if (clearing[H] && is_shared)
      assert (returned[which] == (outside == 0 && !here ? 2'd0 : 2'(outputs - outside - 3'(here))));
    no_more_than_there_were: assert (outside <= outputs);
    known: if (here) assert (now.has_head && now.shared == is_shared && now.has_body == has_body && outside < outputs);
    free_after_all: if (leaves) assert (outside == 0);
    given_back_once: assert (4'(freed) + 4'(leaves) + 4'(here && outside == 0) == 4'(clearing[H] && outside == 0));
    body_goes_along: if (head[H-1:0] == which) assert (body_valid == (head_valid && has_body));
    body_given_back_once: assert (body_freed == (has_body ? freed : 3'd0));
    reached: cover (freed == 1 && is_shared);
  end
