// Skid buffer: both directions of the handshake leave from registers. Words go to two places in turn, and a place that is
// free is written in every cycle, so that no late signal has to reach all bits of a wide word.
module skid #(
    parameter int WIDTH = 8
) (
    `include "stream_ports.svh"
);
  logic [1:0][WIDTH-1:0] words;
  logic head, tail;
  logic full, push, pop;  // full: a word waits behind the one at the output

  assign in_ready = !full;
  assign push = in_valid && !full;
  assign pop = out_valid && out_ready;
  assign out_data = words[head];

  always_ff @(posedge clk) begin
    if (rst) begin
      head <= 1'b0;
      tail <= 1'b0;
      full <= 1'b0;
      out_valid <= 1'b0;
    end else begin
      head <= head ^ pop;
      tail <= tail ^ push;
      full <= full ? !pop : out_valid && push && !pop;
      out_valid <= full || push || (out_valid && !pop);
    end
  end

  always_ff @(posedge clk) begin
    for (int place = 0; place < 2; place++) if (!full && int'(tail) == place) words[place] <= in_data;
  end

`ifdef FORMAL
  `include "skid_props.svh"
`endif
endmodule
