  // One number is followed: it is inside, outside, or not given out for the first time yet.
  logic past;
  initial past = 1'b0;
  always_ff @(posedge clk) past <= 1'b1;
  always_comb if (!past) assume (rst);

  logic [A:0] which;
  logic [WIDTH-1:0] secret;
  assign secret = WIDTH'(FIRST) + WIDTH'(STEP) * WIDTH'(which);
  logic given, outside;  // it was given out before; it is out now
  assign given = out_valid && out_ready && out_cell == secret;
  always_ff @(posedge clk) begin
    which <= which;
    if (rst) outside <= 1'b0;
    else outside <= given || (outside && !(in_valid && in_cell == secret));
  end
  // Numbers that are out.
  logic [A:0] out_count;
  always_ff @(posedge clk) begin
    if (rst) out_count <= '0;
    else out_count <= out_count + (A + 1)'(out_valid && out_ready) - (A + 1)'(in_valid);
  end
  always_comb begin
    assume (which < (A + 1)'(COUNT));
    // Only what is out comes back.
    if (in_valid) assume (out_count != 0);
    if (in_valid && in_cell == secret) assume (outside);
  end
  // Places of the list that hold it.
  logic [A:0] places;
  always_comb begin
    places = (A + 1)'(list.out_valid && list.out_data == secret);
    for (int n = 0; n < 2 ** A; n++)
      if ((A + 1)'(A'(n - 32'(list.head))) < list.count && list.words[n] == secret) places = places + 1'b1;
  end
  always_ff @(posedge clk) if (past && !rst) begin
    conserved: assert ((A + 2)'(out_count) + (A + 2)'(fresh_left) + list.held == (A + 2)'(COUNT));
    room: if (in_valid) assert (in_ready);
    fresh_in_order: assert (fresh_left <= (A + 1)'(COUNT)
        && fresh == WIDTH'(FIRST) + WIDTH'(STEP) * WIDTH'((A + 1)'(COUNT) - fresh_left));
    fresh_is_inside: if (which >= (A + 1)'(COUNT) - fresh_left) assert (!outside && places == 0);
    given_once: if (given) assert (!outside);
    one_place: assert ((A + 2)'(places) + (A + 2)'(outside) <= 1);
    reached: cover (given && fresh_left == 0);
  end
