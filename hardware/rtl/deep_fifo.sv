// First in, first out, for many words in block RAM, which gives a word late in the cycle behind its address. So words are
// read ahead into a short queue; from that they go out as from `short_fifo`.
module deep_fifo #(
    parameter int WIDTH = 8,
    parameter int DEPTH = 64  // words of block RAM: a power of two
) (
    output logic [$clog2(DEPTH):0] waiting,  // words in block RAM
    `include "stream_ports.svh"
);
  localparam int A = $clog2(DEPTH);
  localparam int AHEAD = 4;  // as many as keep a word moving in each cycle
  (* ram_style = "block" *) logic [WIDTH-1:0] words[DEPTH];
  logic [A-1:0] head, tail;
  logic push, load, loaded, front_ready;
  logic [WIDTH-1:0] word;
  logic [$clog2(AHEAD):0] ahead;  // words that were read and did not leave yet

  assign in_ready = waiting != (A + 1)'(DEPTH);
  assign push = in_valid && in_ready;
  assign load = waiting != 0 && ahead != ($clog2(AHEAD) + 1)'(AHEAD);

  always_ff @(posedge clk) begin
    if (push) words[tail] <= in_data;
    word <= words[head];
  end

  always_ff @(posedge clk) begin
    if (rst) begin
      head <= '0;
      tail <= '0;
      waiting <= '0;
      ahead <= '0;
      loaded <= 1'b0;
    end else begin
      tail <= tail + A'(push);
      head <= head + A'(load);
      waiting <= waiting + (A + 1)'(push) - (A + 1)'(load);
      ahead <= ahead + ($clog2(AHEAD) + 1)'(load) - ($clog2(AHEAD) + 1)'(out_valid && out_ready);
      loaded <= load;
    end
  end

  short_fifo #(.WIDTH(WIDTH), .DEPTH(AHEAD)) front (
      .clk, .rst, .in_valid(loaded), .in_ready(front_ready), .in_data(word), .out_valid, .out_ready, .out_data, .held()
  );

`ifdef FORMAL
  `include "deep_fifo_props.svh"
`endif
endmodule
