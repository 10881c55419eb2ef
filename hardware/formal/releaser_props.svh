  // One frame is followed by its first cell and by the first cell of its payload. Each output that holds it gives both back, each
  // once, together or the payload earlier: only then they are free.
  logic past;
  initial past = 1'b0;
  always_ff @(posedge clk) past <= 1'b1;
  always_comb if (!past) assume (rst);

  logic [H-1:0] which;
  cell_t which_body;
  logic is_shared;               // what the frame is
  logic [2:0] outputs;           // outputs that had it
  logic [2:0] outside, outside_body;  // those that have not given it back
  logic head_comes, body_comes, head_here, body_here;
  logic [SOURCES-1:0] asks_head, asks_body;
  always_ff @(posedge clk) begin
    which <= which;
    which_body <= which_body;
    is_shared <= is_shared;
    if (rst) outside <= outputs;
    else outside <= outside - 3'(head_comes);
    if (rst) outside_body <= outputs;
    else outside_body <= outside_body - 3'(body_comes);
  end
  always_comb begin
    outputs = is_shared ? 3'(COPIES) : 3'd1;
    for (int s = 0; s < SOURCES; s++) begin
      asks_head[s] = in_valid[s] && in[s].has_head && in[s].head[H-1:0] == which;
      asks_body[s] = in_valid[s] && in[s].has_body && in[s].head[H-1:0] == which;
    end
    head_comes = (grant & asks_head) != 0;
    body_comes = (grant & asks_body) != 0;
    head_here = now_valid && now.has_head && now.head[H-1:0] == which;
    body_here = now_valid && now.has_body && now.head[H-1:0] == which;
    for (int s = 0; s < SOURCES; s++) begin
      assume (int'(in[s].head) < HEADS);
      // The frame is what it is at every output; none gives a part of it back a second time. Payloads belong to one frame.
      if (asks_head[s]) assume (outside != 0);
      if (asks_body[s]) assume (outside_body != 0);
      if (asks_head[s] || asks_body[s]) assume (in[s].shared == is_shared);
      if (in_valid[s] && in[s].has_body) assume ((in[s].body == which_body) == asks_body[s]);
    end
  end
  // Times that they came free.
  logic [2:0] freed, body_freed;
  logic leaves, body_leaves;
  assign leaves = head_valid && head[H-1:0] == which;
  assign body_leaves = body_valid && body == which_body;
  always_ff @(posedge clk) begin
    if (rst) freed <= '0;
    else freed <= freed + 3'(leaves);
    if (rst) body_freed <= '0;
    else body_freed <= body_freed + 3'(body_leaves);
  end
  // What is counted of a frame that some outputs still hold.
  function automatic logic [1:0] copies(input logic [2:0] left, input logic here);
    copies = left == 0 && !here ? 2'd0 : 2'(outputs - left - 3'(here));
  endfunction
  always_ff @(posedge clk) if (past && !rst) begin
    clears_first: if (!clearing[H])
      assert (grant == 0 && !now_valid && freed == 0 && body_freed == 0 && outside == outputs && outside_body == outputs);
    one_each_cycle: assert ((grant & (grant - 1'b1)) == 0 && (grant & ~in_valid) == 0);
    cleared: if (!clearing[H] && which < clearing[H-1:0]) assert (returned[which] == 0);
    copies_are_counted: if (clearing[H] && is_shared) assert (returned[which] == {copies(outside, head_here),
        copies(outside_body, body_here)});
    no_more_than_there_were: assert (outside <= outputs && outside_body <= outputs);
    known: assert ((!head_here || outside < outputs) && (!body_here || outside_body < outputs)
        && (!(head_here || body_here) || now.shared == is_shared)
        && (!(now_valid && now.has_body) || (now.body == which_body) == body_here));
    free_after_all: assert ((!leaves || outside == 0) && (!body_leaves || outside_body == 0));
    head_given_back_once: assert (4'(freed) + 4'(leaves) + 4'(head_here && outside == 0) == 4'(clearing[H] && outside == 0));
    body_given_back_once: assert (4'(body_freed) + 4'(body_leaves) + 4'(body_here && outside_body == 0)
        == 4'(clearing[H] && outside_body == 0));
    reached: cover (freed == 1 && body_freed == 1 && is_shared);
    reached_body_first: cover (body_freed == 1 && outside == outputs && is_shared);
  end
